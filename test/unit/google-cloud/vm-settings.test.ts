import { expect, it } from 'vitest';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { toInsertRequest, vmPlaceSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { vmRequest } from '../../contract/vm-provider.contract.ts';

it('the agent of a Spot VM is told the notice that Compute Engine is asked for', async () => {
  const place = vmPlaceSchema.parse({
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
  });
  const request = vmRequest({ zone: 'us-central1-a', machineImage: 'image' }, 'spot');

  const { scheduling } = toInsertRequest(request, place, { image: 'image' }).instanceResource ?? {};

  expect(scheduling?.preemptionNoticeDuration?.seconds).toBe(String(settings.limits.preemptionNoticeSeconds));
});
