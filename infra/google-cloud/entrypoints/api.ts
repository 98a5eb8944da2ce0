import { join } from 'node:path';
import { createApi } from '#functions/api.ts';
import type { Settings } from '#functions/settings.ts';
import { createCloudLogStore } from '#infra/google-cloud/cloud-logging/cloud-log-store.ts';
import { authFor } from '#infra/google-cloud/compose/client-options.ts';
import { connectIntake } from '#infra/google-cloud/compose/connect-intake.ts';
import { startFunction } from '#infra/google-cloud/entrypoints/start-function.ts';
import { openArchivedPage } from '#infra/page/page-files.ts';
import type { IdentifyCaller } from '#shared/api/identify-callers.ts';
import { createCallerIdentifier, GCLOUD_AUDIENCE, IAP_ISSUER, IAP_JWKS_URL } from '#shared/api/verify-caller.ts';
import { GOOGLE_JWKS_URL, GOOGLE_TOKEN_ISSUER } from '#shared/api/verify-vm-identity.ts';

const LOGGING_URL = 'https://logging.googleapis.com';

/** Beside the bundle in the function's archive. */
const PAGE_DIRECTORY = 'page';

type CallerSettings = Settings<'API_URL' | 'IAP_AUDIENCE' | 'IDENTITY_CERTS_URL'>;

function callersOf(settings: CallerSettings): IdentifyCaller {
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

startFunction('api', ({ settings, logger }) => {
  const { PROJECT_ID: projectId, LOGGING_ENDPOINT } = settings;
  const url = (LOGGING_ENDPOINT ?? LOGGING_URL).replace(/\/$/, '');
  const logs = createCloudLogStore({ projectId, url, auth: authFor(LOGGING_ENDPOINT) });
  const page = openArchivedPage(join(import.meta.dirname, PAGE_DIRECTORY));
  return createApi({ ...connectIntake(settings), logs, page, logger, identifyCaller: callersOf(settings) });
});
