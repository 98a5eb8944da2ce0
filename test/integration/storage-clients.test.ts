import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Bucket, Storage } from '@google-cloud/storage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findGcloudVersion } from './find-gcloud-version.ts';
import { openStorageDoor, type StorageDoorUnderTest } from './storage-door-under-test.ts';

const MIB = 1_048_576;
const gcloudVersion = findGcloudVersion();

let door: StorageDoorUnderTest;
let files: string;

beforeAll(async () => {
  door = await openStorageDoor();
  files = await mkdtemp(join(tmpdir(), 'dropforge-files-'));
});
afterAll(async () => {
  await door.close();
  await rm(files, { recursive: true });
});

describe('@google-cloud/storage', () => {
  let bucket: Bucket;

  beforeAll(async () => {
    const storage = new Storage({ apiEndpoint: door.origin(), projectId: 'p' });
    [bucket] = await storage.createBucket('node-bucket');
  });

  it('saves and downloads, with its own checksum checks on', async () => {
    const file = bucket.file('dir/ä #1?.txt');
    await file.save('content', {
      resumable: false,
      validation: 'crc32c',
      metadata: { contentType: 'text/x', metadata: { a: 'b' } },
    });
    const [metadata] = await file.getMetadata();
    expect(metadata).toMatchObject({ name: 'dir/ä #1?.txt', size: '7', contentType: 'text/x', metadata: { a: 'b' } });
    const [bytes] = await file.download({ validation: 'md5' });
    expect(bytes.toString()).toBe('content');
  });

  it.each([undefined, MIB])(
    'uploads resumably with a chunk size of %s, and in streams of unknown size',
    async (chunkSize) => {
      const content = randomBytes(2.5 * MIB);
      const path = join(files, 'source');
      await writeFile(path, content);
      const options = { resumable: true, validation: 'crc32c', ...(chunkSize && { chunkSize }) } as const;
      const [uploaded] = await bucket.upload(path, { destination: 'resumable', ...options });
      await new Promise((resolve, reject) => {
        bucket.file('streamed').createWriteStream(options).on('finish', resolve).on('error', reject).end(content);
      });
      expect((await uploaded.download())[0].equals(content)).toBe(true);
      expect((await bucket.file('streamed').download())[0].equals(content)).toBe(true);
      expect((await uploaded.download({ start: 10, end: 19 }))[0].equals(content.subarray(10, 20))).toBe(true);
    },
  );

  it('lists in pages and by directory', async () => {
    for (const name of ['l/1', 'l/2', 'l/sub/3', 'l/sub/4']) {
      await bucket.file(name).save('', { resumable: false });
    }
    const [page, next] = await bucket.getFiles({ prefix: 'l/', maxResults: 3, autoPaginate: false });
    const [rest] = await bucket.getFiles(next ?? {});
    expect(page.map((file) => file.name)).toEqual(['l/1', 'l/2', 'l/sub/3']);
    expect(rest.map((file) => file.name)).toEqual(['l/sub/4']);
    const [direct, , answer] = await bucket.getFiles({ prefix: 'l/', delimiter: '/', autoPaginate: false });
    expect(direct.map((file) => file.name)).toEqual(['l/1', 'l/2']);
    expect(answer).toMatchObject({ prefixes: ['l/sub/'] });
  });

  it('copies, moves, composes, patches and deletes', async () => {
    const [one, two] = [bucket.file('one'), bucket.file('two')];
    await one.save('1', { resumable: false, metadata: { metadata: { keep: 'k', drop: 'd' } } });
    await one.copy(two);
    const [combined] = await bucket.combine([one, two], 'combined');
    expect((await combined.download())[0].toString()).toBe('11');
    await two.setMetadata({ contentType: 'text/new', metadata: { drop: null, add: 'a' } });
    expect((await two.getMetadata())[0]).toMatchObject({
      contentType: 'text/new',
      metageneration: '2',
      metadata: { keep: 'k', add: 'a' },
    });
    await two.move('three');
    expect(await Promise.all([one, two, bucket.file('three')].map(async (file) => (await file.exists())[0]))).toEqual([
      true,
      false,
      true,
    ]);
    await one.delete();
    await expect(one.getMetadata()).rejects.toMatchObject({ code: 404 });
  });

  it('hears of a precondition that does not hold', async () => {
    const file = bucket.file('once', { preconditionOpts: { ifGenerationMatch: 0 } } as object);
    const options = { resumable: false, preconditionOpts: { ifGenerationMatch: 0 } };
    await file.save('first', options);
    await expect(file.save('second', options)).rejects.toMatchObject({ code: 412 });
  });

  it('finds its way with nothing but STORAGE_EMULATOR_HOST', async () => {
    const script = `
      import { Storage } from '@google-cloud/storage';
      const bucket = new Storage({ projectId: 'p' }).bucket('node-bucket');
      await bucket.file('by-environment').save('found', { resumable: false });
      process.stdout.write((await bucket.file('by-environment').download())[0]);`;
    const env = { ...process.env, STORAGE_EMULATOR_HOST: door.origin() };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { env });
    expect(stdout).toBe('found');
  });
});

if (gcloudVersion === undefined) {
  process.stdout.write('gcloud is not on this machine: its own tests of the storage door are left out.\n');
} else {
  describe(`gcloud storage (${gcloudVersion})`, () => {
    async function gcloud(...args: readonly string[]): Promise<string> {
      const env = {
        ...process.env,
        CLOUDSDK_CONFIG: join(files, 'gcloud'),
        CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: `${door.origin()}/storage/v1/`,
        CLOUDSDK_AUTH_DISABLE_CREDENTIALS: 'true',
        CLOUDSDK_CORE_PROJECT: 'p',
        CLOUDSDK_CORE_DISABLE_PROMPTS: '1',
      };
      return (await promisify(execFile)('gcloud', ['storage', ...args], { env })).stdout;
    }

    it('copies, lists, reads, syncs, moves and removes, small and large', async () => {
      const source = join(files, 'tree');
      await mkdir(join(source, 'sub'), { recursive: true });
      await writeFile(join(source, 'a.txt'), 'hello');
      await writeFile(join(source, 'empty'), '');
      await writeFile(join(source, 'sub', 'ü x.txt'), 'ü');
      const large = randomBytes(200 * MIB);
      await writeFile(join(files, 'large'), large);

      await gcloud('buckets', 'create', 'gs://gcloud-bucket');
      await gcloud('cp', '-r', source, join(files, 'large'), 'gs://gcloud-bucket/in/');
      expect((await gcloud('ls', '-r', 'gs://gcloud-bucket/**')).trim().split('\n')).toEqual([
        'gs://gcloud-bucket/in/large',
        'gs://gcloud-bucket/in/tree/a.txt',
        'gs://gcloud-bucket/in/tree/empty',
        'gs://gcloud-bucket/in/tree/sub/ü x.txt',
      ]);
      expect(await gcloud('cat', 'gs://gcloud-bucket/in/tree/a.txt')).toBe('hello');
      await gcloud('mv', 'gs://gcloud-bucket/in/large', 'gs://gcloud-bucket/in/tree/moved');
      await mkdir(join(files, 'out'));
      await gcloud('rsync', '-r', 'gs://gcloud-bucket/in/tree', join(files, 'out'));
      expect((await readFile(join(files, 'out', 'moved'))).equals(large)).toBe(true);
      expect(await readFile(join(files, 'out', 'sub', 'ü x.txt'), 'utf8')).toBe('ü');
      await gcloud('rm', '-r', 'gs://gcloud-bucket');
      await expect(gcloud('ls', 'gs://gcloud-bucket')).rejects.toMatchObject({
        stderr: expect.stringContaining('404'),
      });
    });
  });
}
