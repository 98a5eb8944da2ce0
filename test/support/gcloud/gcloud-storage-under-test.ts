import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Storage } from '@google-cloud/storage';
import { afterAll, beforeAll } from 'vitest';
import type { CloudUnderTest } from '../e2e/cloud-under-test.ts';
import { type GcloudOptions, type GcloudResult, type GcloudUnderTest, openGcloud } from './gcloud-under-test.ts';

/**
 * `gcloud storage` on this cloud for all tests of a file, with a tree of files and a client that checks the results.
 */
export function openGcloudStorageForAllTests(cloud: () => CloudUnderTest) {
  let gcloud: GcloudUnderTest;
  let client: Storage;
  let files: string;

  beforeAll(async () => {
    gcloud = await openGcloud(cloud());
    client = new Storage({ apiEndpoint: cloud().endpoints.storage, projectId: 'p' });
    files = await mkdtemp(join(tmpdir(), 'dropforge-files-'));
    await mkdir(join(files, 'tree', 'sub'), { recursive: true });
    await writeFile(join(files, 'tree', 'a.txt'), 'hello');
    await writeFile(join(files, 'tree', 'empty'), '');
    await writeFile(join(files, 'tree', 'sub', 'ü x.txt'), 'ü');
  });
  afterAll(async () => {
    await gcloud.close();
    await rm(files, { recursive: true });
  });

  const storage = () => client;
  const read = (...args: readonly string[]) => gcloud.read('storage', ...args);
  const run = (args: readonly string[], options?: GcloudOptions): Promise<GcloudResult> =>
    gcloud.run(['storage', ...args], options);
  const file = (...path: readonly string[]) => join(files, ...path);

  async function namesIn(bucket: string, prefix = ''): Promise<readonly string[]> {
    const [found] = await client.bucket(bucket).getFiles({ prefix });
    return found.map(({ name }) => name);
  }

  /** Creates a separate bucket for a test, with empty objects of these names. */
  async function createBucket(bucket: string, names: readonly string[] = []): Promise<void> {
    await client.createBucket(bucket);
    await Promise.all(names.map((name) => client.bucket(bucket).file(name).save(name, { resumable: false })));
  }

  return { storage, read, run, file, namesIn, createBucket };
}
