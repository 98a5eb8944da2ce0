import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudUnderTest, jobFile, packProgram, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import { type GcloudUnderTest, openGcloud } from '../support/gcloud/gcloud-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

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

describe('the Pub/Sub emulator', () => {
  async function publish(topic: string, body: unknown) {
    const { pubsub, projectId } = cloud.endpoints;
    const url = `${pubsub}/v1/projects/${projectId}/topics/${topic}:publish`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  const HELLO = { data: Buffer.from('hello').toString('base64') };

  it('assigns a separate id to each message of a request', async () => {
    const { status, json } = await publish('dropforge-submit', { messages: [HELLO, { attributes: { a: 'b' } }] });
    expect(status).toBe(200);
    expect(new Set(json.messageIds as string[]).size).toBe(2);
  });

  it.each([
    ['the standard alphabet', '{"jobId":"~~~>>>???"}', 'eyJqb2JJZCI6In5+fj4+Pj8/PyJ9'],
    ['the URL-safe alphabet, as gcloud writes it', '{"jobId":"~~~>>>???"}', 'eyJqb2JJZCI6In5-fj4-Pj8_PyJ9'],
    ['the standard alphabet without padding', '{"jobId":"~~~>>>??"}', 'eyJqb2JJZCI6In5-fj4-Pj8_In0'],
  ])('accepts base64 in %s', async (_, written, data) => {
    expect(Buffer.from(data, 'base64').toString()).toBe(written);
    expect(await publish('dropforge-control', { messages: [{ data }] })).toMatchObject({ status: 200 });
  });

  it('lists the topics that users may publish to, and no others', async () => {
    const { pubsub, projectId } = cloud.endpoints;
    const topics = `${pubsub}/v1/projects/${projectId}/topics`;
    const names = ['submit', 'control'].map((name) => ({ name: `projects/${projectId}/topics/dropforge-${name}` }));
    expect(await (await fetch(topics)).json()).toEqual({ topics: names });
    expect(await (await fetch(`${topics}/dropforge-submit`)).json()).toEqual(names[0]);
    expect(await (await fetch(`${topics}/dropforge-provision`)).json()).toMatchObject({ error: { code: 404 } });
  });

  it('returns an error for unsupported methods', async () => {
    const { pubsub, projectId } = cloud.endpoints;
    for (const [method, path] of [
      ['PUT', 'topics/mine'],
      ['GET', 'subscriptions'],
      ['POST', 'subscriptions/mine:pull'],
    ] as const) {
      const response = await fetch(`${pubsub}/v1/projects/${projectId}/${path}`, { method });
      expect([response.status, await response.json()]).toEqual([
        405,
        { error: expect.objectContaining({ message: expect.stringContaining('does not support the Pub/Sub method') }) },
      ]);
    }
  });

  it.each(['dropforge-provision', 'dropforge-teardown', 'submit', 'nonesuch'])(
    'does not allow users to publish to %s',
    async (topic) => {
      expect(await publish(topic, { messages: [HELLO] })).toMatchObject({
        status: 404,
        json: { error: { status: 'NOT_FOUND', message: expect.stringContaining('Publish to dropforge-submit or') } },
      });
    },
  );

  it.each([
    [{ messages: [] }],
    [{ messages: [{ data: 'not base64!' }] }],
    [{ messages: [{ attributes: { a: 1 } }] }],
    [{ messages: [HELLO, {}] }],
    [{ messages: [{ data: 'YWJjZ' }] }],
    [{ messages: [{ attributes: { '': 'x' } }] }],
    [{}],
  ])('rejects %j', async (body) => {
    expect(await publish('dropforge-submit', body)).toMatchObject({
      status: 400,
      json: { error: { status: 'INVALID_ARGUMENT' } },
    });
  });

  it.each([
    ['a message of a megabyte', { messages: [{ data: 'A'.repeat(1_000_000) }] }],
    ['a request of ten', { messages: Array(20).fill({ data: 'A'.repeat(600_000) }) }],
    ['an attribute that is too long', { messages: [{ attributes: { a: 'x'.repeat(1_025) } }] }],
    [
      'too many attributes',
      { messages: [{ attributes: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, 'x'])) }] },
    ],
  ])('rejects %s', async (_, body) => {
    expect(await publish('dropforge-submit', body)).toMatchObject({
      status: 400,
      json: { error: { status: 'INVALID_ARGUMENT', message: expect.stringMatching(/over|exceeds|more than/) } },
    });
  });
});

if (gcloudVersion === undefined) {
  leaveOut('gcloud', 'its commands with the variables of `dropforge env`');
} else {
  describe(`gcloud (${gcloudVersion}) with what \`dropforge env\` prints`, () => {
    let opened: GcloudUnderTest;
    beforeAll(async () => {
      opened = await openGcloud(cloud);
    });
    afterAll(() => opened.close());

    const gcloud = (...args: readonly string[]) => opened.read(...args);

    it('copies a package with a job file to the upload bucket, and the job runs', async () => {
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
      // The base64 encoding of this contains the characters in which the two alphabets differ.
      const command = JSON.stringify({ command: 'cancel', jobId: 'published', reason: '~~~>>>???ÿ' });
      await gcloud('pubsub', 'topics', 'publish', 'dropforge-control', '--message', command, '--attribute=by=gcloud');
      expect(await cloud.awaitJob('published')).toMatchObject({ state: 'CANCELLED' });
    });

    it('lists the topics to publish to', async () => {
      const prefix = `projects/${cloud.endpoints.projectId}/topics/dropforge`;
      expect(await gcloud('pubsub', 'topics', 'list', '--format=value(name)')).toBe(
        `${prefix}-submit\n${prefix}-control\n`,
      );
    });

    it('prints the emulator’s error with the existing topics', async () => {
      await expect(gcloud('pubsub', 'topics', 'publish', 'nonesuch', '--message', 'x')).rejects.toThrow(
        'Topic nonesuch does not exist',
      );
    });
  });
}
