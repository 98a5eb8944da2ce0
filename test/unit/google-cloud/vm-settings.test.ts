import { expect, it } from 'vitest';
import { readVmSettings } from '#infra/google-cloud/compose/vm-settings.ts';
import { toInsertRequest, vmDefaultsSchema } from '#infra/google-cloud/compute-engine/instance-request.ts';
import { vmRequest } from '../../contract/vm-provider.contract.ts';
import { exampleSettingsOf } from '../../support/functions/example-settings.ts';

it('configures the agent with the preemption notice that the VM requests', async () => {
  const defaults = vmDefaultsSchema.parse({
    projectId: 'p',
    subnetwork: 'projects/p/regions/{region}/subnetworks/s',
    serviceAccount: 'vm@p.iam.gserviceaccount.com',
  });
  const settings = await readVmSettings(exampleSettingsOf('provision'));
  const request = vmRequest({ zone: 'us-central1-a', machineImage: 'image' }, 'spot');

  const { scheduling } = toInsertRequest(request, defaults, { image: 'image' }).instanceResource ?? {};

  expect(scheduling?.preemptionNoticeDuration?.seconds).toBe(String(settings.limits.preemptionNoticeSeconds));
});
