import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createComputeVmProvider } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import { vmRequest } from '../contract/vm-provider.contract.ts';
import { PLACE } from '../support/contract/vm-cloud-under-test.ts';
import { type ComputeUnderTest, openComputeUnderTest } from '../support/google-cloud/compute-under-test.ts';

const TRAINER = 'trainer@p-labs.iam.gserviceaccount.com';
const RIGHTS = {
  serviceAccount: TRAINER,
  subnetwork: 'projects/host/regions/local1/subnetworks/gpu',
  networkAttachment: 'projects/data/regions/local1/networkAttachments/lake',
  kmsKeyName: 'projects/keys/locations/global/keyRings/r/cryptoKeys/k',
};

describe('a VM with rights of its job', () => {
  let compute: ComputeUnderTest;
  beforeEach(async () => {
    compute = await openComputeUnderTest({ stopGraceMs: 500, serviceAccounts: [TRAINER] });
  });
  afterEach(() => compute.close());

  it('is inserted with them: account, subnetwork, second interface, and key of the disk', async () => {
    const vms = createComputeVmProvider(compute.engine);
    const request = { ...vmRequest(PLACE, 'with-rights'), ...RIGHTS };

    expect(await vms.create(request)).toMatchObject({ outcome: 'CREATED' });

    const [instance] = await compute.instances.get({ project: 'p', zone: PLACE.zone, instance: request.vmName });
    expect(instance.serviceAccounts).toMatchObject([{ email: TRAINER }]);
    expect(instance.networkInterfaces).toMatchObject([
      { name: 'nic0', subnetwork: RIGHTS.subnetwork },
      { name: 'nic1', networkAttachment: RIGHTS.networkAttachment },
    ]);
    expect(instance.disks).toMatchObject([{ diskEncryptionKey: { kmsKeyName: RIGHTS.kmsKeyName } }]);
  });

  it('is not created with an account that cannot be attached, and the failure names the line of Terraform', async () => {
    const vms = createComputeVmProvider(compute.engine);
    const stranger = 'stranger@p-labs.iam.gserviceaccount.com';

    const outcome = await vms.create({ ...vmRequest(PLACE, 'refused'), ...RIGHTS, serviceAccount: stranger });

    expect(outcome).toMatchObject({
      outcome: 'FAILED',
      failure: {
        cause: { code: 'CONFIGURATION_REFUSED', message: expect.stringContaining(`job_accounts = ["${stranger}"]`) },
      },
    });
    expect(await vms.list()).toEqual([]);
  });
});
