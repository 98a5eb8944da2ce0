import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CloudStorageUnderTest, openCloudStorage } from '../support/embedded/cloud-storage-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const MIB = 1_048_576;
const run = promisify(execFile);

const isInstalled = await run('rclone', ['version']).then(
  () => true,
  () => false,
);

let server: CloudStorageUnderTest;
let files: string;

beforeAll(async () => {
  server = await openCloudStorage();
  files = await mkdtemp(join(tmpdir(), 'dropforge-rclone-'));
});
afterAll(async () => {
  await server.close();
  await rm(files, { recursive: true });
});

async function rclone(...args: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    RCLONE_CONFIG: join(files, 'none'),
    RCLONE_CONFIG_GS_TYPE: 'google cloud storage',
    RCLONE_GCS_ENDPOINT: `${server.origin()}/storage/v1/`,
    RCLONE_GCS_ANONYMOUS: 'true',
    RCLONE_GCS_BUCKET_POLICY_ONLY: 'true',
    RCLONE_GCS_PROJECT_NUMBER: '1',
  };
  return (await run('rclone', ['--retries=1', ...args], { env })).stdout;
}

if (isInstalled) {
  it('rclone, a program of Google’s client for Go, copies a file of several chunks in both directions', async () => {
    const content = randomBytes(40 * MIB);
    await writeFile(join(files, 'large'), content);
    await rclone('mkdir', 'gs:by-rclone');

    await rclone('copyto', join(files, 'large'), 'gs:by-rclone/folder/large');
    await rclone('copyto', 'gs:by-rclone/folder/large', 'gs:by-rclone/copied');
    await rclone('copyto', 'gs:by-rclone/copied', join(files, 'back'));

    expect((await readFile(join(files, 'back'))).equals(content)).toBe(true);
    expect((await rclone('lsf', '--recursive', 'gs:by-rclone')).split('\n').sort()).toEqual(
      ['', 'copied', 'folder/', 'folder/large'].sort(),
    );
    await rclone('purge', 'gs:by-rclone');
    expect(await rclone('lsf', 'gs:')).toBe('');
  });
} else {
  leaveOut('rclone', 'a program of Google’s client for Go on the Cloud Storage emulator');
}
