import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import { type GcloudUnderTest, openGcloud } from '../support/gcloud/gcloud-under-test.ts';
import { createClients } from '../support/google-cloud/compute-under-test.ts';

const gcloudVersion = findGcloudVersion();
const ZONE = '--zone=us-central1-a';

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
  process.stdout.write('gcloud is not installed: its tests of the Compute Engine emulator are skipped.\n');
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

    const create = (...names: readonly string[]) =>
      gcloud(
        ...['instances', 'create', ...names, ZONE, '--source-machine-image=dropforge-runtime', '--labels=made=by-hand'],
        '--metadata=startup-script=echo hello; sleep 300 & wait',
      );

    it('creates, lists, describes and deletes a VM, and reads its serial port', async () => {
      await create('by-hand');
      expect(await list('--filter=labels.made=by-hand')).toEqual(['by-hand\tRUNNING']);
      expect(await list('--filter=labels.made=elsewhere')).toEqual([]);
      expect(await list('--zones=us-central1-a', '--filter=name=by-hand')).toEqual(['by-hand\tRUNNING']);

      const described = JSON.parse(await gcloud('instances', 'describe', 'by-hand', ZONE, '--format=json')) as object;
      expect(described).toMatchObject({ kind: 'compute#instance', name: 'by-hand', labels: { made: 'by-hand' } });
      expect(await gcloud('instances', 'get-serial-port-output', 'by-hand', ZONE)).toContain('hello');

      await gcloud('instances', 'delete', 'by-hand', ZONE);
      expect(await list('--filter=name=by-hand')).toEqual([]);
    });

    it('stops a VM, adds labels and metadata, starts and resets it', async () => {
      await create('switched');
      const shown = (field: string) =>
        gcloud('instances', 'describe', 'switched', ZONE, `--format=value(${field})`).then((text) => text.trim());
      await gcloud('instances', 'stop', 'switched', ZONE);
      expect(await shown('status')).toBe('TERMINATED');
      await gcloud('instances', 'add-labels', 'switched', ZONE, '--labels=phase=two');
      await gcloud('instances', 'add-metadata', 'switched', ZONE, '--metadata=note=later');
      expect(await shown('labels.phase,metadata.items[0].value')).toBe('two\tlater');
      await gcloud('instances', 'start', 'switched', ZONE);
      await gcloud('instances', 'reset', 'switched', ZONE);
      expect(await shown('status')).toBe('RUNNING');
      expect(await gcloud('disks', 'list', '--filter=name=switched', '--format=value(name,sizeGb)')).toBe(
        'switched\t100\n',
      );
      await expect(gcloud('instances', 'suspend', 'switched', ZONE)).rejects.toThrow('does not support suspend');
      await gcloud('instances', 'delete', 'switched', ZONE);
    });

    it('creates and deletes several VMs in a batch', async () => {
      await create('twin-a', 'twin-b');
      expect(await list('--filter=name~^twin-')).toEqual(['twin-a\tRUNNING', 'twin-b\tRUNNING']);
      await gcloud('instances', 'delete', 'twin-a', 'twin-b', ZONE);
      expect(await list('--filter=name~^twin-')).toEqual([]);
    });

    it('receives Compute Engine’s errors for missing resources', async () => {
      await expect(gcloud('instances', 'describe', 'none', ZONE)).rejects.toThrow(
        "zones/us-central1-a/instances/none' was not found",
      );
    });

    it.each([
      [['zones', 'list', '--filter=name=us-central1-a', '--format=value(name,status)'], 'us-central1-a\tUP'],
      [['regions', 'list', '--filter=name=us-central1', '--format=value(name,status)'], 'us-central1\tUP'],
      [
        ['accelerator-types', 'list', '--filter=name=nvidia-tesla-t4', '--limit=1', '--format=value(name)'],
        'nvidia-tesla-t4',
      ],
      [['machine-types', 'describe', 'n1-standard-4', ZONE, '--format=value(guestCpus)'], '4'],
      [['machine-images', 'list', '--format=value(name)'], 'dropforge-runtime'],
      [['project-info', 'describe', '--format=value(name)'], 'dropforge-local'],
      [['operations', 'list', '--filter=operationType=insert', '--limit=1', '--format=value(status)'], 'DONE'],
    ])('shows %j', async (args, shown) => {
      expect((await gcloud(...args)).trim()).toBe(shown);
    });
  });
}
