import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli/test-cloud.ts';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import { openGcloudStorageForAllTests } from '../support/gcloud/gcloud-storage-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const gcloudVersion = findGcloudVersion();
const MIB = 1_048_576;
const LARGE_BYTES = 200 * MIB;

let cloud: CloudUnderTest;

beforeAll(async () => {
  cloud = await startCloudUnderTest();
});
afterAll(() => cloud.stop());

it('the variables that `dropforge env` prints are the addresses of running servers', async () => {
  const variables = (await runCli(['env', '--format=json'], { dataDir: cloud.dataDir })).json()[0] as NodeJS.ProcessEnv;
  const buckets = await fetch(`${variables.CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE}b`);
  expect(await buckets.json()).toMatchObject({ kind: 'storage#buckets' });
  const topics = await fetch(`${variables.CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB}v1/projects/p/topics`);
  expect(await topics.json()).toHaveProperty('topics');
});

if (gcloudVersion === undefined) {
  leaveOut('gcloud', 'its commands on the Cloud Storage emulator');
} else {
  describe(`gcloud storage (${gcloudVersion}) with what \`dropforge env\` prints`, testGcloudStorage);
}

function testGcloudStorage(): void {
  const { read, run, storage, file, namesIn, createBucket } = openGcloudStorageForAllTests(() => cloud);
  const linesOf = (text: string) => text.trimEnd().split('\n').filter(Boolean);
  const large = randomBytes(LARGE_BYTES);

  beforeAll(() => writeFile(file('large'), large));

  it('creates, describes and lists buckets', async () => {
    await read('buckets', 'create', 'gs://made-by-gcloud', '--location=us');
    const [described, listed, rejected] = await Promise.all([
      read('buckets', 'describe', 'gs://made-by-gcloud', '--format=value(name,location,uniform_bucket_level_access)'),
      read('buckets', 'list', '--filter=name:made-by', '--format=value(storage_url)'),
      run(['buckets', 'create', 'gs://made-by-gcloud']),
    ]);
    expect(described.trim()).toBe('made-by-gcloud\tUS\tTrue');
    expect(linesOf(listed)).toEqual(['gs://made-by-gcloud/']);
    expect(rejected).toMatchObject({ code: 1, stderr: expect.stringContaining('HTTPError 409') });
  });

  it('uploads 200 MB in one stream and in parts that it composes, and downloads them in slices', async () => {
    await createBucket('large');
    const environment = { CLOUDSDK_STORAGE_PARALLEL_COMPOSITE_UPLOAD_ENABLED: 'False' };
    const uploaded = await Promise.all([
      run(['cp', file('large'), 'gs://large/streamed'], { environment }),
      run(['cp', file('large'), 'gs://large/composed']),
    ]);
    expect(uploaded).toMatchObject([{ code: 0 }, { code: 0 }]);
    // The parts have been removed, and the bytes are the same.
    const [found] = await storage().bucket('large').getFiles();
    const seen = found.map(({ name, metadata }) => [name, metadata.size, metadata.componentCount, metadata.crc32c]);
    const crc32c = found[0]?.metadata.crc32c;
    expect(seen).toEqual([
      ['composed', String(LARGE_BYTES), 5, crc32c],
      ['streamed', String(LARGE_BYTES), undefined, crc32c],
    ]);
    await read('cp', 'gs://large/composed', file('large-back'));
    expect((await readFile(file('large-back'))).equals(large)).toBe(true);
  });

  it('uploads from stdin in chunks, and writes objects to stdout', async () => {
    await createBucket('streams');
    const stdin = large.subarray(0, 20 * MIB + 1);
    const environment = { CLOUDSDK_STORAGE_UPLOAD_CHUNK_SIZE: '8Mi' };
    expect(await run(['cp', '-', 'gs://streams/in'], { stdin, environment })).toMatchObject({ code: 0 });
    const [whole, range] = await Promise.all([
      run(['cat', 'gs://streams/in']),
      run(['cat', '-r', '1000-1999', 'gs://streams/in']),
    ]);
    expect(whole.stdout.equals(stdin)).toBe(true);
    expect(range.stdout.equals(stdin.subarray(1_000, 2_000))).toBe(true);
  });

  it('copies directories to, from and between buckets, and by wildcards', async () => {
    await Promise.all([createBucket('trees'), createBucket('trees-copy')]);
    await read('cp', '-r', file('tree'), 'gs://trees/');
    await mkdir(file('down'));
    await Promise.all([
      read('cp', '-r', 'gs://trees/tree', file('down')),
      read('cp', '-r', 'gs://trees/tree', 'gs://trees-copy/all'),
      read('cp', 'gs://trees/tree/*', 'gs://trees-copy/direct/'),
      read('cp', 'gs://trees/**.txt', 'gs://trees-copy/flat/'),
    ]);
    expect(await namesIn('trees')).toEqual(['tree/a.txt', 'tree/empty', 'tree/sub/ü x.txt']);
    expect(await readFile(file('down', 'tree', 'sub', 'ü x.txt'), 'utf8')).toBe('ü');
    expect((await stat(file('down', 'tree', 'empty'))).size).toBe(0);
    expect(await namesIn('trees-copy')).toEqual([
      ...['all/a.txt', 'all/empty', 'all/sub/ü x.txt'],
      ...['direct/a.txt', 'direct/empty'],
      ...['flat/a.txt', 'flat/ü x.txt'],
    ]);
  });

  it('lists by directory, recursively, in long format and by wildcards, and prints sizes', async () => {
    await createBucket('listed', ['a', 'd/1', 'd/2', 'd/e/3']);
    const [direct, deep, matched, used] = await Promise.all([
      read('ls', 'gs://listed'),
      read('ls', '-r', 'gs://listed/d'),
      read('ls', '-l', 'gs://listed/d/**/?', 'gs://list*/a'),
      read('du', 'gs://listed'),
    ]);
    expect(linesOf(direct)).toEqual(['gs://listed/a', 'gs://listed/d/']);
    expect(linesOf(deep)).toEqual([
      ...['gs://listed/d/:', 'gs://listed/d/1', 'gs://listed/d/2'],
      ...['gs://listed/d/e/:', 'gs://listed/d/e/3'],
    ]);
    expect(linesOf(matched).map((line) => line.replace(/\d{4}-\d\d-\d\dT[\d:]+Z/, 'TIME').trim())).toEqual([
      ...['3  TIME  gs://listed/d/1', '3  TIME  gs://listed/d/2', '5  TIME  gs://listed/d/e/3'],
      'TOTAL: 3 objects, 11 bytes (11.00B)',
      ...['1  TIME  gs://listed/a', 'TOTAL: 1 objects, 1 bytes (1.00B)'],
    ]);
    expect(linesOf(used).map((line) => line.split(/\s+/))).toEqual([
      ...[
        ['1', 'gs://listed/a'],
        ['3', 'gs://listed/d/1'],
        ['3', 'gs://listed/d/2'],
      ],
      ...[
        ['5', 'gs://listed/d/e/3'],
        ['5', 'gs://listed/d/e/'],
        ['11', 'gs://listed/d/'],
      ],
    ]);
  });

  it('moves files, objects and prefixes', async () => {
    await createBucket('moves', ['one', 'p/1', 'p/q/2']);
    await writeFile(file('leaving'), 'x');
    await Promise.all([
      read('mv', 'gs://moves/one', 'gs://moves/other'),
      read('mv', 'gs://moves/p', 'gs://moves/r'),
      read('mv', file('leaving'), 'gs://moves/'),
    ]);
    expect(await namesIn('moves')).toEqual(['leaving', 'other', 'r/1', 'r/q/2']);
    expect(await readdir(file())).not.toContain('leaving');
  });

  it('syncs in every direction, deletes unmatched objects, and copies nothing the second time', async () => {
    await Promise.all([createBucket('sync', ['stray']), createBucket('sync-copy')]);
    const up = ['rsync', '-r', '--delete-unmatched-destination-objects', file('tree'), 'gs://sync'];
    expect((await run(up)).stderr).toContain('Copying');
    const names = ['a.txt', 'empty', 'sub/ü x.txt'];
    expect(await namesIn('sync')).toEqual(names);
    await mkdir(file('synced'));
    await writeFile(file('synced', 'stray'), '');
    const over = ['rsync', '-r', 'gs://sync', 'gs://sync-copy'];
    const down = ['rsync', '-r', '--delete-unmatched-destination-objects', 'gs://sync', file('synced')];
    await Promise.all([read(...over), read(...down)]);
    expect(await namesIn('sync-copy')).toEqual(names);
    expect((await readdir(file('synced'))).sort()).toEqual(['a.txt', 'empty', 'sub']);
    const again = await Promise.all([up, over, down].map((command) => run(command)));
    for (const { code, stderr } of again) {
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/Copying|Removing/)]);
    }
  });

  it('describes, updates and hashes objects', async () => {
    await createBucket('described');
    const text = ['--content-type=text/x', '--cache-control=no-store', '--custom-metadata=k=v,w=ü'];
    await read('cp', ...text, file('tree', 'a.txt'), 'gs://described/a');
    await read('objects', 'update', 'gs://described/a', '--clear-cache-control', '--update-custom-metadata=n=m');
    const [described, hashed] = await Promise.all([
      read('objects', 'describe', 'gs://described/a', '--format=json'),
      read('hash', 'gs://described/a', file('tree', 'a.txt'), '--format=value(crc32c_hash,md5_hash)'),
    ]);
    expect(JSON.parse(described)).toMatchObject({
      name: 'a',
      content_type: 'text/x',
      custom_fields: { k: 'v', w: 'ü', n: 'm' },
      metageneration: 2,
    });
    expect(JSON.parse(described)).not.toHaveProperty('cache_control');
    expect(linesOf(hashed)).toEqual(Array(2).fill('mnG7TA==\tXUFAKrxLKna5cZ2REBfFkg=='));
  });

  it('removes by name, by wildcards, by prefix and with the bucket', async () => {
    const left = ['keep', 'x/sub/keep'];
    await createBucket('gone', ['one', 'x/1', 'x/2', 'y/1', 'y/z/2', 'w/1', 'w/z/2', ...left]);
    await createBucket('gone-whole', ['a', 'b/c']);
    await Promise.all([
      read('rm', 'gs://gone/one', 'gs://gone/x/*'),
      read('rm', 'gs://gone/w/**'),
      read('rm', '-r', 'gs://gone/y'),
      read('rm', '-r', 'gs://gone-whole'),
    ]);
    expect(await namesIn('gone')).toEqual(left);
    expect(await storage().bucket('gone-whole').exists()).toEqual([false]);
  });

  it('receives errors for missing, rejected and unsupported requests, with a remedy', async () => {
    await createBucket('errors', ['there']);
    const calls: readonly (readonly [readonly string[], RegExp])[] = [
      [['ls', 'gs://never-made'], /gs:\/\/never-made not found: 404/],
      [['cat', 'gs://errors/missing'], /matched no objects or files:\ngs:\/\/errors\/missing/],
      [['rm', '--if-generation-match=1', 'gs://errors/there'], /HTTPError 412: A precondition on errors\/there/],
      [['cp', 'gs://errors/there', `gs://errors/${'ü'.repeat(513)}`], /HTTPError 400: .* 1026 bytes.* Use 1 to 1024/],
      [['buckets', 'delete', 'gs://errors'], /Bucket is not empty/],
      [
        ['buckets', 'update', 'gs://errors', '--versioning'],
        /HTTPError 405: The embedded cloud does not support the storage/,
      ],
    ];
    const results = await Promise.all(calls.map(([args]) => run(args)));
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(
      calls.map(([, problem]) => [1, expect.stringMatching(problem)]),
    );
    expect(await namesIn('errors')).toEqual(['there']);
  });
}
