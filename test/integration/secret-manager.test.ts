import { crc32c } from '@node-rs/crc32';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRET_BYTES_MAX } from '#infra/embedded/secret-manager/secret-store.ts';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import { type GcloudUnderTest, openGcloud } from '../support/gcloud/gcloud-under-test.ts';

const gcloudVersion = findGcloudVersion();

let cloud: CloudUnderTest;
beforeAll(async () => {
  cloud = await startCloudUnderTest();
});
afterAll(() => cloud.stop());

async function ask(method: string, path: string, body?: unknown) {
  const { secretManager, projectId } = cloud.endpoints;
  // A body that is over the limit is not read: its connection ends.
  const headers = { connection: 'close' };
  const url = `${secretManager}/v1/projects/${projectId}/${path}`;
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> };
}

const payloadOf = (data: string | Buffer) => ({ payload: { data: Buffer.from(data).toString('base64') } });

const make = async (name: string, ...values: readonly string[]) => {
  expect(await ask('POST', `secrets?secretId=${name}`, { replication: { automatic: {} } })).toMatchObject({
    status: 200,
  });
  for (const value of values) {
    expect(await ask('POST', `secrets/${name}:addVersion`, payloadOf(value))).toMatchObject({ status: 200 });
  }
};

describe('the Secret Manager door', () => {
  it('gives a value back as it was, by its version and as the latest', async () => {
    await make('twice', 'first', 'zweite Zeile ü\n');
    const path = `projects/${cloud.endpoints.projectId}/secrets/twice`;
    const latest = Buffer.from('zweite Zeile ü\n');
    expect(await ask('GET', 'secrets/twice/versions/latest:access')).toEqual({
      status: 200,
      answer: {
        name: `${path}/versions/2`,
        payload: { data: latest.toString('base64'), dataCrc32c: String(crc32c(latest)) },
      },
    });
    expect(await ask('GET', 'secrets/twice/versions/1:access')).toMatchObject({ answer: payloadOf('first') });
    expect(await ask('GET', 'secrets/twice/versions/latest')).toMatchObject({
      answer: { name: `${path}/versions/2`, state: 'ENABLED' },
    });
    expect(await ask('GET', 'secrets/twice/versions')).toMatchObject({
      answer: { versions: [{ name: `${path}/versions/2` }, { name: `${path}/versions/1` }] },
    });
    expect(await ask('GET', 'secrets/twice')).toMatchObject({ answer: { name: path, replication: { automatic: {} } } });
  });

  it('lists, and shows no value anywhere but where it is asked for', async () => {
    await make('listed', 'planted');
    const listed = await ask('GET', 'secrets');
    expect(listed.answer.secrets).toContainEqual(
      expect.objectContaining({ name: `projects/${cloud.endpoints.projectId}/secrets/listed` }),
    );
    expect(JSON.stringify(listed)).not.toContain(Buffer.from('planted').toString('base64'));
  });

  it('forgets a secret with its versions when it is deleted', async () => {
    await make('gone', 'a', 'b');
    expect(await ask('DELETE', 'secrets/gone')).toEqual({ status: 200, answer: {} });
    expect(await ask('DELETE', 'secrets/gone')).toMatchObject({ status: 404 });
    expect(await ask('GET', 'secrets/gone/versions/1:access')).toMatchObject({ status: 404 });
    await make('gone', 'c');
    expect(await ask('GET', 'secrets/gone/versions/latest')).toMatchObject({
      answer: { name: expect.stringMatching(/versions\/1$/) },
    });
  });

  it('takes up to 64 KiB, and no more', async () => {
    await make('large');
    const add = (sizeBytes: number) => ask('POST', 'secrets/large:addVersion', payloadOf(Buffer.alloc(sizeBytes, 'x')));
    expect(await add(SECRET_BYTES_MAX)).toMatchObject({ status: 200 });
    for (const sizeBytes of [0, SECRET_BYTES_MAX + 1, 4 * SECRET_BYTES_MAX]) {
      expect(await add(sizeBytes)).toMatchObject({ status: 400, answer: { error: { status: 'INVALID_ARGUMENT' } } });
    }
  });

  it.each([
    ['POST secrets?secretId=taken', 'ALREADY_EXISTS'],
    ['POST secrets?secretId=no/name', 'INVALID_ARGUMENT'],
    ['POST secrets', 'INVALID_ARGUMENT'],
    ['POST secrets/taken:addVersion', 'INVALID_ARGUMENT'],
    ['GET secrets/none', 'NOT_FOUND'],
    ['GET secrets/none/versions/latest:access', 'NOT_FOUND'],
    ['GET secrets/taken/versions/latest:access', 'NOT_FOUND'],
    ['GET secrets/taken/versions/7', 'NOT_FOUND'],
    ['GET secrets/taken/versions/x', 'NOT_FOUND'],
    ['POST secrets/taken/versions/1:destroy', 'UNIMPLEMENTED'],
    ['PATCH secrets/taken', 'UNIMPLEMENTED'],
  ])('answers %s with %s', async (request, word) => {
    await ask('POST', 'secrets?secretId=taken', {});
    const [method = '', path = ''] = request.split(' ');
    const { status, answer } = await ask(method, path, method === 'GET' ? undefined : {});
    expect(answer).toEqual({ error: { code: status, status: word, message: expect.stringMatching(/\.$/) } });
    expect(status).toBe({ ALREADY_EXISTS: 409, INVALID_ARGUMENT: 400, NOT_FOUND: 404, UNIMPLEMENTED: 405 }[word]);
  });

  it('has the secrets of its own project alone, and takes no data that was damaged on the way', async () => {
    expect((await fetch(`${cloud.endpoints.secretManager}/v1/projects/another/secrets`)).status).toBe(404);
    await make('damaged');
    const payload = { ...payloadOf('whole').payload, dataCrc32c: '1' };
    expect(await ask('POST', 'secrets/damaged:addVersion', { payload })).toMatchObject({ status: 400 });
  });
});

if (gcloudVersion === undefined) {
  process.stdout.write('gcloud is not on this machine: its tests of the Secret Manager door are left out.\n');
} else {
  describe(`gcloud secrets (${gcloudVersion}) with what \`dropforge env\` prints`, () => {
    let opened: GcloudUnderTest;
    beforeAll(async () => {
      opened = await openGcloud(cloud);
    });
    afterAll(() => opened.close());

    const gcloud = (...args: readonly string[]) => opened.read('secrets', ...args);

    it('makes a secret, gives it a new version, reads, lists, describes and deletes it', async () => {
      const stdin = Buffer.from('from gcloud');
      expect(await opened.run(['secrets', 'create', 'by-gcloud', '--data-file=-'], { stdin })).toMatchObject({
        code: 0,
      });
      expect(await gcloud('versions', 'access', 'latest', '--secret=by-gcloud')).toBe('from gcloud');
      const added = await opened.run(['secrets', 'versions', 'add', 'by-gcloud', '--data-file=-'], {
        stdin: Buffer.from('again'),
      });
      expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('Created version [2]') });
      expect(await gcloud('versions', 'access', 'latest', '--secret=by-gcloud')).toBe('again');
      expect(await gcloud('list', '--format=value(name)')).toContain('by-gcloud');
      expect(await gcloud('describe', 'by-gcloud', '--format=value(name)')).toContain('secrets/by-gcloud');
      await gcloud('delete', 'by-gcloud');
      expect(await opened.run(['secrets', 'describe', 'by-gcloud'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('NOT_FOUND'),
      });
    });
  });
}
