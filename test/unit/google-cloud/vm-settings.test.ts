import { expect, it } from 'vitest';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { toInsertRequest, vmDefaultsSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { NO_RIGHTS } from '#shared/protocol/job-rights.ts';
import { vmRequest } from '../../contract/vm-provider.contract.ts';

it('configures the agent with the preemption notice that the VM requests', async () => {
  const defaults = vmDefaultsSchema.parse({
    projectId: 'p',
    subnetwork: 'projects/p/regions/{region}/subnetworks/s',
    serviceAccount: 'vm@p.iam.gserviceaccount.com',
  });
  const settings = await readVmSettings({
    PROJECT_ID: 'p',
    HEARTBEAT_URL: 'https://heartbeat.test',
    HEARTBEAT_AUDIENCE: 'heartbeat',
    STORAGE_EMULATOR_HOST: undefined,
    LOGGING_ENDPOINT: undefined,
    SECRET_MANAGER_ENDPOINT: undefined,
    AGENT_URI: { uri: `gs://p-sources/agent/${'ab'.repeat(32)}.pyz`, sha256: 'ab'.repeat(32) },
    CACHE_BUCKET: undefined,
    JOB_RIGHTS: NO_RIGHTS,
    REGISTRIES: {},
    VMS_MAX: 100,
    USD_PER_HOUR_MAX: undefined,
  });
  const request = vmRequest({ zone: 'us-central1-a', machineImage: 'image' }, 'spot');

  const { scheduling } = toInsertRequest(request, defaults, { image: 'image' }).instanceResource ?? {};

  expect(scheduling?.preemptionNoticeDuration?.seconds).toBe(String(settings.limits.preemptionNoticeSeconds));
});
