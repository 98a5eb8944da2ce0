import { join } from 'node:path';
import { createApi } from '#functions/api.ts';
import { createHeartbeat } from '#functions/heartbeat.ts';
import { createNotify } from '#functions/notify.ts';
import { createOnControl } from '#functions/on-control.ts';
import { createOnDeadLetter } from '#functions/on-dead-letter.ts';
import { createOnInterruption } from '#functions/on-interruption.ts';
import { createOnSubmit } from '#functions/on-submit.ts';
import { createOnUpload } from '#functions/on-upload.ts';
import { createProvision } from '#functions/provision.ts';
import type { SettingsOf } from '#functions/read-settings.ts';
import { createReport } from '#functions/report.ts';
import type { Settings } from '#functions/settings.ts';
import { createTeardown } from '#functions/teardown.ts';
import { createTuning } from '#functions/tuning.ts';
import { createWatch } from '#functions/watch.ts';
import { createCloudLogStore } from '#infra/google-cloud/cloud-logging/cloud-log-store.ts';
import { authFor, urlOf } from '#infra/google-cloud/compose/client-options.ts';
import { connectComputeClients } from '#infra/google-cloud/compose/compute-clients.ts';
import { connectEvents } from '#infra/google-cloud/compose/connect-events.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { connectObjects } from '#infra/google-cloud/compose/connect-objects.ts';
import { connectSecrets } from '#infra/google-cloud/compose/connect-secrets.ts';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';
import { startFunction } from '#infra/google-cloud/compose/start-function.ts';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import { createComputeVmRemoval } from '#infra/google-cloud/compute-engine/compute-vm-removal.ts';
import { vmDefaultsSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { createNotificationSender } from '#infra/notifications/notification-sender.ts';
import { openArchivedPage } from '#infra/page/page-files.ts';
import type { IdentifyCaller } from '#shared/api/identify-callers.ts';
import { createCallerIdentifier, GCLOUD_AUDIENCE, IAP_ISSUER, IAP_JWKS_URL } from '#shared/api/verify-caller.ts';
import { createVmIdentityVerifier, GOOGLE_JWKS_URL, GOOGLE_TOKEN_ISSUER } from '#shared/api/verify-vm-identity.ts';
import type { VmCreation } from '#shared/ports/vm-provider.ts';

/*
 * Each deployed function as an export of its name, which composes and starts it. The bundle of a function has its own
 * row and what that imports, and nothing else: the rows are no object, whose entries esbuild would keep together.
 */

export const onUpload = () =>
  startFunction('on-upload', (settings, logger) => createOnUpload(connectIntake(settings, logger)));

export const onSubmit = () =>
  startFunction('on-submit', (settings, logger) => createOnSubmit(connectIntake(settings, logger)));

export const onControl = () =>
  startFunction('on-control', (settings, logger) => createOnControl(connectEvents(settings, logger)));

export const provision = () =>
  startFunction('provision', (settings, logger) => {
    const adapters = { vms: connectVms(settings), objects: connectObjects(settings) };
    const ports = { ...connectEvents(settings, logger), ...adapters };
    const vmSettings = readVmSettings(settings);
    return async (event) => createProvision({ ...ports, vmSettings: await vmSettings })(event);
  });

export const teardown = () =>
  startFunction('teardown', (settings, logger) => {
    const vms = createComputeVmRemoval({ ...connectComputeClients(settings), projectId: settings.PROJECT_ID });
    return createTeardown({ ...connectEvents(settings, logger), vms });
  });

export const tuning = () =>
  startFunction('tuning', (settings, logger) => createTuning(connectEvents(settings, logger)));

export const watch = () => startFunction('watch', (settings, logger) => createWatch(connectEvents(settings, logger)));

export const onInterruption = () =>
  startFunction('on-interruption', (settings, logger) => createOnInterruption(connectEvents(settings, logger)));

export const report = () =>
  startFunction('report', (settings, logger) =>
    createReport({ ...connectState(settings), objects: connectObjects(settings), logger }),
  );

export const notify = () =>
  startFunction('notify', (settings, logger) =>
    createNotify({
      ...connectState(settings),
      channels: settings.NOTIFICATION_CHANNELS,
      secrets: connectSecrets(settings),
      // Secrets of an emulator are those of a test, whose channels are on this machine.
      sender: createNotificationSender({ allowsPrivateAddresses: settings.SECRET_MANAGER_ENDPOINT !== undefined }),
      pageUrl: settings.PAGE_URL,
      logger,
    }),
  );

export const onDeadLetter = () =>
  startFunction('on-dead-letter', (settings, logger) => createOnDeadLetter(connectIntake(settings, logger)));

export const heartbeat = () =>
  startFunction('heartbeat', (settings, logger) =>
    createHeartbeat({
      ...connectEvents(settings, logger),
      verifyVmIdentity: createVmIdentityVerifier({
        jwks: new URL(settings.IDENTITY_CERTS_URL ?? GOOGLE_JWKS_URL),
        issuer: GOOGLE_TOKEN_ISSUER,
        audience: settings.HEARTBEAT_AUDIENCE,
        serviceAccountEmail: settings.VM_SERVICE_ACCOUNT,
        projectId: settings.PROJECT_ID,
      }),
    }),
  );

export const api = () =>
  startFunction('api', (settings, logger) => {
    const { PROJECT_ID: projectId, LOGGING_ENDPOINT: endpoint } = settings;
    const logs = createCloudLogStore({ projectId, url: urlOf('logging', endpoint), auth: authFor(endpoint) });
    const page = openArchivedPage(join(import.meta.dirname, PAGE_DIRECTORY));
    return createApi({ ...connectIntake(settings, logger), logs, page, identifyCaller: callersOf(settings) });
  });

/** Beside the bundle in the function's archive. */
const PAGE_DIRECTORY = 'page';

function connectVms(settings: SettingsOf<'provision'>): VmCreation {
  const defaults = {
    projectId: settings.PROJECT_ID,
    subnetwork: settings.SUBNETWORK,
    serviceAccount: settings.VM_SERVICE_ACCOUNT,
    hasSecureBoot: settings.SECURE_BOOT,
    hasShellAccess: settings.SHELL_ACCESS,
    diskKmsKey: settings.DISK_KMS_KEY ?? null,
  };
  return createComputeVmProvider({
    ...connectComputeClients(settings),
    defaults: vmDefaultsSchema.parse(defaults),
    images: settings.RUNTIME_IMAGES,
  });
}

function callersOf(settings: Settings<'API_URL' | 'IAP_AUDIENCE' | 'IDENTITY_CERTS_URL'>): IdentifyCaller {
  const { API_URL: url, IAP_AUDIENCE: iapAudience, IDENTITY_CERTS_URL: certsUrl } = settings;
  const jwks = new URL(certsUrl ?? GOOGLE_JWKS_URL);
  const audiences = url === undefined ? [GCLOUD_AUDIENCE] : [url, GCLOUD_AUDIENCE];
  return createCallerIdentifier({
    identity: { jwks, issuer: GOOGLE_TOKEN_ISSUER, audiences, algorithm: 'RS256' },
    iap:
      iapAudience === undefined
        ? null
        : { jwks: new URL(IAP_JWKS_URL), issuer: IAP_ISSUER, audiences: [iapAudience], algorithm: 'ES256' },
  });
}
