import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createLocalJWKSet, decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../infra/embedded/database.ts';
import { type MetadataServer, openMetadataServer } from '../../infra/embedded/doors/metadata-server.ts';
import { createVmMetadata, withGuestAttribute } from '../../infra/embedded/doors/vm-metadata.ts';
import { openVmIdentityIssuer, type VmIdentityIssuer } from '../../infra/embedded/vms/vm-identity.ts';
import type { VmRecord } from '../../infra/embedded/vms/vm-table.ts';
import { createVmIdentityVerifier } from '../../shared/api/verify-vm-identity.ts';

const EMAIL = 'vm@p.iam.gserviceaccount.com';
const INSTANCE_ID = '4570452845155348778';
const FLAVOR = { 'Metadata-Flavor': 'Google' };

const RECORD: VmRecord = {
  request: {
    role: 'master',
    index: 0,
    vmName: 'df-job-a1-master-0',
    zone: 'us-central1-a',
    jobId: 'job',
    attempt: 1,
    machineType: 'n1-standard-4',
    accelerator: null,
    provisioningModel: 'SPOT',
    machineImage: 'python',
    bootDiskGib: 50,
    bootDiskType: 'pd-ssd',
    reservation: null,
    labels: {},
    capacityWaitSeconds: null,
    maxRunSeconds: 60,
    metadata: {
      'startup-script': 'exit',
      'dropforge-config': '{"a":1}',
      'enable-guest-attributes': 'TRUE',
      __proto__x: 'x',
    },
  },
  instanceId: INSTANCE_ID,
  createdAt: 1_700_000_000_000,
  status: 'RUNNING',
  leader: null,
  metadataPort: 0,
  deleteAt: 0,
  isPreempted: false,
  guestAttributes: {},
};

describe('the metadata server of a VM', () => {
  const database = openDatabase(':memory:');
  let identity: VmIdentityIssuer;
  let record: VmRecord;
  let now: number;
  let server: MetadataServer;
  let root: string;

  beforeEach(async () => {
    now = Date.now();
    record = RECORD;
    const clock = { now: () => now };
    identity = await openVmIdentityIssuer({ database, clock, projectId: 'p', serviceAccountEmail: EMAIL });
    server = await openMetadataServer({
      port: 0,
      tree: createVmMetadata({ identity, clock, record: () => record }),
      writeGuestAttribute(name, value) {
        const { attributes, ...answer } = withGuestAttribute(record, name, value);
        record = { ...record, guestAttributes: attributes };
        return answer;
      },
    });
    root = `http://127.0.0.1:${server.port}/computeMetadata/v1`;
  });
  afterEach(() => server.close());

  const ask = (path: string, init: RequestInit = {}) => fetch(`${root}${path}`, { headers: FLAVOR, ...init });
  const read = async (path: string) => (await ask(path)).text();
  const preempt = () => {
    record = { ...record, isPreempted: true };
    server.notifyChange();
  };

  it.each([
    ['/instance/id', INSTANCE_ID],
    ['/instance/name', 'df-job-a1-master-0'],
    ['/instance/zone', 'projects/100000000001/zones/us-central1-a'],
    ['/instance/machine-type', 'projects/100000000001/machineTypes/n1-standard-4'],
    ['/instance/hostname', 'df-job-a1-master-0.us-central1-a.c.p.internal'],
    ['/instance/image', ''],
    ['/instance/tags', '[]'],
    ['/instance/preempted', 'FALSE'],
    ['/instance/maintenance-event', 'NONE'],
    ['/instance/scheduling/preemptible', 'TRUE'],
    ['/instance/attributes/dropforge-config', '{"a":1}'],
    ['/instance/attributes/dropforge-config?alt=json', '"{\\"a\\":1}"'],
    ['/instance/id?alt=json', INSTANCE_ID],
    ['/instance/service-accounts/default/email', EMAIL],
    [`/instance/service-accounts/${EMAIL}/scopes`, 'https://www.googleapis.com/auth/cloud-platform\n'],
    ['/project/project-id', 'p'],
    ['/project/numeric-project-id', '100000000001'],
    ['/project/attributes/', ''],
    ['/instance/service-accounts/default/', 'aliases\nemail\nidentity\nscopes\ntoken\n'],
    ['/', 'instance/\nproject/\n'],
    [
      '/instance/attributes/?recursive=true&alt=text',
      'startup-script exit\ndropforge-config {"a":1}\nenable-guest-attributes TRUE\n__proto__x x\n',
    ],
  ])('answers %s', async (path, body) => {
    const answer = await ask(path);
    expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 200, body });
    expect(answer.headers.get('Metadata-Flavor')).toBe('Google');
    expect(answer.headers.get('Content-Type')).toBe(
      path.endsWith('alt=json') ? 'application/json' : 'application/text',
    );
    expect(answer.headers.get('ETag')).toMatch(/^[0-9a-f]{16}$/);
  });

  it('gives a whole directory as JSON: its own names in camelCase, those of users as they are, ids as whole numbers', async () => {
    const text = await read('/instance/?recursive=true');
    expect(text).toContain(`"id":${INSTANCE_ID},`);
    expect(JSON.parse(text)).toMatchObject({
      attributes: { 'startup-script': 'exit', 'dropforge-config': '{"a":1}' },
      machineType: 'projects/100000000001/machineTypes/n1-standard-4',
      scheduling: { onHostMaintenance: 'TERMINATE' },
      serviceAccounts: { default: { aliases: ['default'], email: EMAIL } },
      tags: [],
    });
    expect(text).not.toContain('token');
  });

  it.each(['/instance/nothing', '/instance/id/', '/instance/id/more', '/elsewhere/', '/instance/attributes/toString'])(
    'has no %s',
    async (path) => expect((await ask(path)).status).toBe(404),
  );

  it('sends those who forget the slash of a directory to it', async () => {
    const answer = await ask('/instance?alt=json', { redirect: 'manual' });
    expect(answer.status).toBe(301);
    expect(answer.headers.get('Location')).toBe('/computeMetadata/v1/instance/?alt=json');
    expect(await read('/instance?alt=json')).toContain('"service-accounts/"');
  });

  it.each([
    ['without the Metadata-Flavor header', {}],
    ['with another flavor', { 'Metadata-Flavor': 'Vanilla' }],
    ['that came through a proxy', { ...FLAVOR, 'X-Forwarded-For': '10.0.0.1' }],
  ])('gives nothing away to a request %s', async (_, headers) => {
    const answer = await ask('/instance/service-accounts/default/token', { headers });
    expect(answer.status).toBe(403);
    expect(await answer.text()).not.toContain('access_token');
  });

  it('is recognised by those who look for a metadata server at the root', async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/`, { headers: FLAVOR });
    expect(answer.headers.get('Metadata-Flavor')).toBe('Google');
    expect(await answer.text()).toBe('computeMetadata/\n');
  });

  it('answers a wait with the new value as soon as it changes', async () => {
    const etag = (await ask('/instance/preempted')).headers.get('ETag');
    const waiting = ask(`/instance/preempted?wait_for_change=true&last_etag=${etag}`);
    const unconcerned = ask(`/instance/name?wait_for_change=true&timeout_sec=1`);
    await ask('/instance/name');
    preempt();

    const answer = await waiting;
    expect(await answer.text()).toBe('TRUE');
    expect(answer.headers.get('ETag')).not.toBe(etag);
    expect(await (await unconcerned).text()).toBe('df-job-a1-master-0');
  });

  it('answers a wait at once when the value was another than the one last seen', async () => {
    preempt();
    expect(await read('/instance/preempted?wait_for_change=true&last_etag=0')).toBe('TRUE');
  });

  it('answers a wait with the old value when its time is over', async () => {
    const etag = (await ask('/instance/preempted')).headers.get('ETag');
    const answer = await ask(`/instance/preempted?wait_for_change=true&timeout_sec=0&last_etag=${etag}`);
    expect(await answer.text()).toBe('FALSE');
    expect(answer.headers.get('ETag')).toBe(etag);
    expect((await ask('/instance/preempted?wait_for_change=true&timeout_sec=-1')).status).toBe(400);
  });

  it('gives an identity token that the verifier believes, and only with an audience', async () => {
    const path = '/instance/service-accounts/default/identity?audience=https://h.test&format=full';
    const token = await read(path);
    const jwks = createLocalJWKSet(identity.jwks);
    const verify = createVmIdentityVerifier({
      ...{ jwks, issuer: identity.issuer, audience: 'https://h.test', serviceAccountEmail: EMAIL, projectId: 'p' },
    });

    const expected = { vmName: 'df-job-a1-master-0', zone: 'us-central1-a', instanceId: INSTANCE_ID };
    expect(await verify(`Bearer ${token}`)).toEqual({ outcome: 'VERIFIED', identity: expected });
    const { iat, exp, google } = decodeJwt(token);
    expect(Number(exp) - Number(iat)).toBe(3_600);
    expect(google).toMatchObject({
      compute_engine: { instance_creation_timestamp: 1_700_000_000, project_number: 100_000_000_001 },
    });
    expect((await ask('/instance/service-accounts/default/identity')).status).toBe(400);
    expect(decodeJwt(await read(path.replace('&format=full', '')))).not.toHaveProperty('google');
  });

  it('keeps its signing key, and shows the public half alone', async () => {
    const options = { database, clock: { now: Date.now }, projectId: 'p', serviceAccountEmail: EMAIL };
    expect((await openVmIdentityIssuer(options)).jwks).toEqual(identity.jwks);
    expect(Object.keys(identity.jwks.keys[0] ?? {}).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });

  it('gives the same access token until five minutes before its end', async () => {
    const token = async () => JSON.parse(await read('/instance/service-accounts/default/token'));
    const first = await token();
    expect(first).toMatchObject({ expires_in: 3_600, token_type: 'Bearer' });
    now += 3_300_000;
    expect(await token()).toEqual({ ...first, expires_in: 300 });
    now += 1_000;
    expect((await token()).access_token).not.toBe(first.access_token);
  });

  it('keeps guest attributes, where they are allowed', async () => {
    const path = '/instance/guest-attributes/ns/key';
    const write = (name: string, init: RequestInit) =>
      ask(`/instance/guest-attributes/${name}`, { method: 'PUT', ...init });
    expect((await write('ns/key', { body: 'välue' })).status).toBe(200);
    expect(await read(path)).toBe('välue');
    expect(await read('/instance/guest-attributes/?recursive=true')).toBe('{"ns":{"key":"välue"}}');
    expect((await write('ns', { body: 'x' })).status).toBe(400);
    expect((await write('ns/big', { body: 'x'.repeat(262_145) })).status).toBe(413);
    expect((await ask('/instance/name', { method: 'PUT', body: 'x' })).status).toBe(405);
    expect((await ask(path, { method: 'DELETE' })).status).toBe(200);
    expect((await ask(path)).status).toBe(404);
    record = { ...record, request: { ...record.request, metadata: {} } };
    expect((await write('ns/key', { body: 'x' })).status).toBe(403);
  });

  it('understands a name that is no legal URL as a bad request', async () => {
    expect((await ask('/instance/attributes/%E0%A4%A')).status).toBe(400);
  });

  it('lets those who wait go when it is closed, and opens again on the same port', async () => {
    const waiting = expect(ask('/instance/preempted?wait_for_change=true')).rejects.toThrow();
    await ask('/instance/name');
    await server.close();
    await waiting;
    const again = await openMetadataServer({
      port: server.port,
      tree: createVmMetadata({ identity, clock: { now: Date.now }, record: () => record }),
      writeGuestAttribute: () => ({ status: 403, message: '' }),
    });
    expect(again.port).toBe(server.port);
    server = again;
  });

  it('speaks to the standard library of Python as the agent uses it', async () => {
    const program = `import urllib.request as u
print(u.urlopen(u.Request('${root}/instance/attributes/startup-script', headers={'Metadata-Flavor': 'Google'})).read().decode())`;
    const { stdout } = await promisify(execFile)('python3', ['-c', program]);
    expect(stdout).toBe('exit\n');
  });
});
