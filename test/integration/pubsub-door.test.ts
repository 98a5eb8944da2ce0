import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../e2e/cloud-under-test.ts';
import { runCli } from '../unit/cli/test-cloud.ts';
import { findGcloudVersion } from './find-gcloud-version.ts';

const gcloudVersion = findGcloudVersion();

let cloud: CloudUnderTest;
let files: string;

beforeAll(async () => {
  cloud = await startCloudUnderTest();
  files = await mkdtemp(join(tmpdir(), 'dropforge-files-'));
});
afterAll(async () => {
  await cloud.stop();
  await rm(files, { recursive: true });
});

describe('the Pub/Sub door', () => {
  async function publish(topic: string, body: unknown) {
    const { pubsub, projectId } = cloud.endpoints;
    const url = `${pubsub}/v1/projects/${projectId}/topics/${topic}:publish`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
  }

  const HELLO = { data: Buffer.from('hello').toString('base64') };

  it('gives every message of a request an id of its own', async () => {
    const { status, answer } = await publish('dropforge-submit', { messages: [HELLO, { attributes: { a: 'b' } }] });
    expect(status).toBe(200);
    expect(new Set(answer.messageIds as string[]).size).toBe(2);
  });

  it.each(['dropforge-provision', 'dropforge-teardown', 'nonesuch'])(
    'does not let users publish on %s',
    async (topic) => {
      expect(await publish(topic, { messages: [HELLO] })).toMatchObject({
        status: 404,
        answer: { error: { status: 'NOT_FOUND', message: expect.stringContaining('there are dropforge-submit and') } },
      });
    },
  );

  it.each([
    [{ messages: [] }],
    [{ messages: [{ data: 'not base64!' }] }],
    [{ messages: [{ attributes: { a: 1 } }] }],
    [{}],
  ])('refuses %j', async (body) => {
    expect(await publish('dropforge-submit', body)).toMatchObject({
      status: 400,
      answer: { error: { status: 'INVALID_ARGUMENT' } },
    });
  });
});

if (gcloudVersion === undefined) {
  process.stdout.write('gcloud is not on this machine: its tests of `dropforge env` are left out.\n');
} else {
  describe(`gcloud (${gcloudVersion}) with what \`dropforge env\` prints`, () => {
    async function gcloud(...args: readonly string[]): Promise<string> {
      const printed = (
        await runCli(['env', '--format=json'], { dataDir: cloud.dataDir })
      ).json()[0] as NodeJS.ProcessEnv;
      const env = { ...process.env, CLOUDSDK_CONFIG: join(files, 'gcloud'), ...printed };
      return (await promisify(execFile)('gcloud', args, { env })).stdout;
    }

    it('copies a package with a job file into the upload bucket, and it is trained', async () => {
      await writeFile(join(files, 'copied.tar.gz'), await packProgram('print("copied")\n', jobFile('copied')));
      await gcloud('storage', 'cp', join(files, 'copied.tar.gz'), `gs://${cloud.endpoints.uploadBucket}/`);
      expect(await cloud.awaitJob('copied')).toMatchObject({ state: 'SUCCEEDED' });
    });

    it('submits and cancels by messages', async () => {
      const packageUri = `gs://${cloud.endpoints.uploadBucket}/lib.tar.gz`;
      await cloud.upload('lib.tar.gz', await packProgram('import time\ntime.sleep(600)\n', {}));
      const job = jobFile('published', { packageUris: [packageUri] });
      const published = await gcloud(
        'pubsub',
        'topics',
        'publish',
        'dropforge-submit',
        '--message',
        JSON.stringify(job),
      );
      expect(published).toMatch(/messageIds:\n- '\d+'/);
      await cloud.awaitJob('published', ({ state }) => state === 'RUNNING');
      const command = JSON.stringify({ command: 'cancel', jobId: 'published' });
      await gcloud('pubsub', 'topics', 'publish', 'dropforge-control', '--message', command);
      expect(await cloud.awaitJob('published')).toMatchObject({ state: 'CANCELLED' });
    });

    it('is told in the words of the door which topics there are', async () => {
      await expect(gcloud('pubsub', 'topics', 'publish', 'nonesuch', '--message', 'x')).rejects.toMatchObject({
        stderr: expect.stringContaining('There is no topic nonesuch to publish to'),
      });
    });
  });
}
