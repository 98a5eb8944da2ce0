import { crc32c } from '@node-rs/crc32';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRET_BYTES_MAX } from '#infra/embedded/secret-manager/secret-store.ts';
import { type CloudUnderTest, startCloudUnderTest } from '../support/e2e/cloud-under-test.ts';
import { findGcloudVersion } from '../support/gcloud/find-gcloud-version.ts';
import { type GcloudUnderTest, openGcloud } from '../support/gcloud/gcloud-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const gcloudVersion = findGcloudVersion();

let cloud: CloudUnderTest;
beforeAll(async () => {
  cloud = await startCloudUnderTest();
});
afterAll(() => cloud.stop());

async function call(method: string, path: string, body?: unknown) {
  const { secretManager, projectId } = cloud.endpoints;
  // A body over the limit is not read: the connection is closed.
  const headers = { connection: 'close' };
  const url = `${secretManager}/v1/projects/${projectId}/${path}`;
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

const payloadOf = (data: string | Buffer) => ({ payload: { data: Buffer.from(data).toString('base64') } });

const make = async (name: string, ...values: readonly string[]) => {
  expect(await call('POST', `secrets?secretId=${name}`, { replication: { automatic: {} } })).toMatchObject({
    status: 200,
  });
  for (const value of values) {
    expect(await call('POST', `secrets/${name}:addVersion`, payloadOf(value))).toMatchObject({ status: 200 });
  }
};

describe('the Secret Manager emulator', () => {
  it('returns the exact value, by version number and as the latest', async () => {
    await make('twice', 'first', 'zweite Zeile ü\n');
    const path = `projects/${cloud.endpoints.projectId}/secrets/twice`;
    const latest = Buffer.from('zweite Zeile ü\n');
    expect(await call('GET', 'secrets/twice/versions/latest:access')).toEqual({
      status: 200,
      json: {
        name: `${path}/versions/2`,
        payload: { data: latest.toString('base64'), dataCrc32c: String(crc32c(latest)) },
      },
    });
    expect(await call('GET', 'secrets/twice/versions/1:access')).toMatchObject({ json: payloadOf('first') });
    expect(await call('GET', 'secrets/twice/versions/latest')).toMatchObject({
      json: { name: `${path}/versions/2`, state: 'ENABLED' },
    });
    expect(await call('GET', 'secrets/twice/versions')).toMatchObject({
      json: { versions: [{ name: `${path}/versions/2` }, { name: `${path}/versions/1` }] },
    });
    expect(await call('GET', 'secrets/twice')).toMatchObject({ json: { name: path, replication: { automatic: {} } } });
  });

  it('lists secrets, and returns values only for access requests', async () => {
    await make('listed', 'planted');
    const listed = await call('GET', 'secrets');
    expect(listed.json.secrets).toContainEqual(
      expect.objectContaining({ name: `projects/${cloud.endpoints.projectId}/secrets/listed` }),
    );
    expect(JSON.stringify(listed)).not.toContain(Buffer.from('planted').toString('base64'));
  });

  it('deletes a secret with its versions', async () => {
    await make('gone', 'a', 'b');
    expect(await call('DELETE', 'secrets/gone')).toEqual({ status: 200, json: {} });
    expect(await call('DELETE', 'secrets/gone')).toMatchObject({ status: 404 });
    expect(await call('GET', 'secrets/gone/versions/1:access')).toMatchObject({ status: 404 });
    await make('gone', 'c');
    expect(await call('GET', 'secrets/gone/versions/latest')).toMatchObject({
      json: { name: expect.stringMatching(/versions\/1$/) },
    });
  });

  it('accepts values up to 64 KiB', async () => {
    await make('large');
    const add = (sizeBytes: number) =>
      call('POST', 'secrets/large:addVersion', payloadOf(Buffer.alloc(sizeBytes, 'x')));
    expect(await add(SECRET_BYTES_MAX)).toMatchObject({ status: 200 });
    for (const sizeBytes of [0, SECRET_BYTES_MAX + 1, 4 * SECRET_BYTES_MAX]) {
      expect(await add(sizeBytes)).toMatchObject({ status: 400, json: { error: { status: 'INVALID_ARGUMENT' } } });
    }
  });

  it.each([
    ['POST secrets?secretId=existing', 'ALREADY_EXISTS'],
    ['POST secrets?secretId=no/name', 'INVALID_ARGUMENT'],
    ['POST secrets', 'INVALID_ARGUMENT'],
    ['POST secrets/existing:addVersion', 'INVALID_ARGUMENT'],
    ['GET secrets/none', 'NOT_FOUND'],
    ['GET secrets/none/versions/latest:access', 'NOT_FOUND'],
    ['GET secrets/existing/versions/latest:access', 'NOT_FOUND'],
    ['GET secrets/existing/versions/7', 'NOT_FOUND'],
    ['GET secrets/existing/versions/x', 'NOT_FOUND'],
    ['POST secrets/existing/versions/1:destroy', 'UNIMPLEMENTED'],
    ['PATCH secrets/existing', 'UNIMPLEMENTED'],
  ])('responds to %s with %s', async (request, status) => {
    await call('POST', 'secrets?secretId=existing', {});
    const [method = '', path = ''] = request.split(' ');
    const { status: code, json } = await call(method, path, method === 'GET' ? undefined : {});
    expect(json).toEqual({ error: { code, status, message: expect.stringMatching(/\.$/) } });
    expect(code).toBe({ ALREADY_EXISTS: 409, INVALID_ARGUMENT: 400, NOT_FOUND: 404, UNIMPLEMENTED: 405 }[status]);
  });

  it('has the secrets of its own project only, and rejects corrupted data', async () => {
    expect((await fetch(`${cloud.endpoints.secretManager}/v1/projects/another/secrets`)).status).toBe(404);
    await make('damaged');
    const payload = { ...payloadOf('whole').payload, dataCrc32c: '1' };
    expect(await call('POST', 'secrets/damaged:addVersion', { payload })).toMatchObject({ status: 400 });
  });
});

if (gcloudVersion === undefined) {
  leaveOut('gcloud', 'its commands on the Secret Manager emulator');
} else {
  describe(`gcloud secrets (${gcloudVersion}) with what \`dropforge env\` prints`, () => {
    let opened: GcloudUnderTest;
    beforeAll(async () => {
      opened = await openGcloud(cloud);
    });
    afterAll(() => opened.close());

    const gcloud = (...args: readonly string[]) => opened.read('secrets', ...args);

    it('creates a secret, adds a version, accesses, lists, describes and deletes it', async () => {
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
