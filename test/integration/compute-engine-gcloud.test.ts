import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import { type GcloudUnderTest, openGcloud } from '../support/gcloud/gcloud-under-test.ts';
import { createClients } from '../support/google-cloud/compute-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const gcloudVersion = findGcloudVersion();
const ZONE = '--zone=us-central1-a';
const ZONES = '--zones=us-central1-a';

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest({ vmsMax: 8, stopGraceSeconds: 0.2 });
});
afterAll(() => cloud.stop());

it('an embedded cloud serves its VMs through a Compute Engine emulator', async () => {
  await cloud.upload('sleeper.tar.gz', await packProgram('import time\ntime.sleep(600)\n', jobFile('Sleeper')));
  await cloud.awaitJob('Sleeper', ({ state }) => state === 'RUNNING');
  const { instances, operations } = createClients(Number(new URL(cloud.endpoints.compute).port));
  const request = {
    project: cloud.endpoints.projectId,
    filter: '(labels.managed-by = dropforge) AND (labels.dropforge-job = "-sleeper")',
  };
  const found = [];
  for await (const [, zone] of instances.aggregatedListAsync(request, { autoPaginate: false })) {
    found.push(...(zone.instances ?? []));
  }
  expect(found).toMatchObject([{ status: 'RUNNING', labels: { 'dropforge-attempt': '1' } }]);
  expect(found.map(({ name }) => name)).toEqual((await cloud.listVms()).map(({ vmName }) => vmName));
  await Promise.all([instances.close(), operations.close()]);
  await cloud.cancel('Sleeper');
});

if (gcloudVersion === undefined) {
  leaveOut('gcloud', 'its commands on the Compute Engine emulator');
} else {
  describe(`gcloud compute (${gcloudVersion}) with what \`dropforge env\` prints`, () => {
    let opened: GcloudUnderTest;
    beforeAll(async () => {
      opened = await openGcloud(cloud);
    });
    afterAll(() => opened.close());

    const gcloud = (...args: readonly string[]) => opened.read('compute', ...args);

    const list = async (...flags: readonly string[]) =>
      (await gcloud('instances', 'list', '--format=value(name,status)', ...flags)).trim().split('\n').filter(Boolean);

    /** Submits jobs that run until they are stopped. Resolves with the names of their VMs. */
    async function run(...jobIds: readonly string[]): Promise<readonly string[]> {
      const before = (await cloud.listVms()).map(({ vmName }) => vmName);
      for (const jobId of jobIds) {
        await cloud.upload(`${jobId}.tar.gz`, await packProgram('import time\ntime.sleep(600)\n', jobFile(jobId)));
        await cloud.awaitJob(jobId, ({ state }) => state === 'RUNNING');
      }
      return (await cloud.listVms()).map(({ vmName }) => vmName).filter((name) => !before.includes(name));
    }

    it('lists, describes and deletes the VM of a job', async () => {
      const [vm = ''] = await run('shown');
      expect(await list('--filter=labels.dropforge-job=shown')).toEqual([`${vm}\tRUNNING`]);
      expect(await list('--filter=labels.dropforge-job=hidden')).toEqual([]);
      expect(await list(ZONES, `--filter=name=${vm} AND status!=STOPPING`)).toEqual([`${vm}\tRUNNING`]);

      const described = JSON.parse(await gcloud('instances', 'describe', vm, ZONE, '--format=json')) as object;
      expect(described).toMatchObject({ kind: 'compute#instance', name: vm, labels: { 'managed-by': 'dropforge' } });

      await cloud.cancel('shown');
      await cloud.awaitJob('shown', ({ state }) => state === 'CANCELLED');
    });

    it('deletes several VMs in a batch', async () => {
      const vms = await run('one', 'two');
      await gcloud('instances', 'delete', ...vms, ZONE);
      expect(await list(`--filter=name=(${vms.join(' ')})`)).toEqual([]);
      await Promise.all(['one', 'two'].map(cloud.cancel));
    });

    it('receives Compute Engine’s errors for missing resources', async () => {
      await expect(gcloud('instances', 'describe', 'none', ZONE)).rejects.toThrow(
        "zones/us-central1-a/instances/none' was not found",
      );
    });

    it('is told where the methods of the embedded cloud are listed', async () => {
      await expect(gcloud('instances', 'stop', 'any', ZONE)).rejects.toThrow(
        /does not support the Compute Engine method .* are in docs\/embedded-cloud\.md/,
      );
    });
  });
}
