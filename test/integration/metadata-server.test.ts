import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openMetadataServer } from '../../infra/embedded/compute-engine/metadata-server/server.ts';
import { createVmMetadata } from '../../infra/embedded/compute-engine/vms/metadata.ts';
import {
  EMAIL,
  FLAVOR,
  INSTANCE_ID,
  openMetadataServerForEachTest,
} from '../support/embedded/metadata-server-under-test.ts';

describe('the metadata server of a VM', () => {
  const { vm, ask, read } = openMetadataServerForEachTest();
  const preempt = () => {
    vm().record = { ...vm().record, isPreempted: true };
    vm().server.notifyChange();
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
    ['/instance/attributes/?recursive=true&alt=text', 'startup-script exit\ndropforge-config {"a":1}\n__proto__x x\n'],
  ])('serves %s', async (path, body) => {
    const json = await ask(path);
    expect({ status: json.status, body: await json.text() }).toEqual({ status: 200, body });
    expect(json.headers.get('Metadata-Flavor')).toBe('Google');
    expect(json.headers.get('Content-Type')).toBe(path.endsWith('alt=json') ? 'application/json' : 'application/text');
    expect(json.headers.get('ETag')).toMatch(/^[0-9a-f]{16}$/);
  });

  it('gives notice of host maintenance, with the start of its window', async () => {
    expect((await ask('/instance/upcoming-maintenance')).status).toBe(404);
    // With the last ETag, the change is not missed even if it comes before the request.
    const before = (await ask('/instance/maintenance-event')).headers.get('ETag');
    const waiting = ask(`/instance/maintenance-event?wait_for_change=true&last_etag=${before}`);
    const deleteAt = Date.parse('2026-11-22T12:00:00Z');
    vm().record = { ...vm().record, isMaintained: true, deleteAt };
    vm().server.notifyChange();
    expect(await (await waiting).text()).toBe('TERMINATE_ON_HOST_MAINTENANCE');
    const upcoming = await read('/instance/upcoming-maintenance?alt=json&recursive=true');
    expect(JSON.parse(upcoming)).toMatchObject({ windowStartTime: '2026-11-22T12:00:00.000Z' });
  });

  it('serves a directory as JSON: its own names in camelCase, user names verbatim, ids as integers', async () => {
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

  it('redirects a request for a directory without a trailing slash', async () => {
    const json = await ask('/instance?alt=json', { redirect: 'manual' });
    expect(json.status).toBe(301);
    expect(json.headers.get('Location')).toBe('/computeMetadata/v1/instance/?alt=json');
    expect(await read('/instance?alt=json')).toContain('"service-accounts/"');
  });

  it.each([
    ['without the Metadata-Flavor header', {}],
    ['with another flavor', { 'Metadata-Flavor': 'Vanilla' }],
    ['that came through a proxy', { ...FLAVOR, 'X-Forwarded-For': '10.0.0.1' }],
    ['of a web page', { ...FLAVOR, Origin: 'https://page.test' }],
  ])('rejects a request %s', async (_, headers) => {
    const json = await ask('/instance/service-accounts/default/token', { headers });
    expect(json.status).toBe(403);
    expect(await json.text()).not.toContain('access_token');
  });

  it('is detected by a request for the root', async () => {
    const json = await fetch(`http://127.0.0.1:${vm().server.port}/`, { headers: FLAVOR });
    expect(json.headers.get('Metadata-Flavor')).toBe('Google');
    expect(await json.text()).toBe('computeMetadata/\n');
  });

  it('responds to a wait with the new value as soon as it changes', async () => {
    const etag = (await ask('/instance/preempted')).headers.get('ETag');
    const waiting = ask(`/instance/preempted?wait_for_change=true&last_etag=${etag}`);
    const unconcerned = ask(`/instance/name?wait_for_change=true&timeout_sec=1`);
    await ask('/instance/name');
    preempt();

    const json = await waiting;
    expect(await json.text()).toBe('TRUE');
    expect(json.headers.get('ETag')).not.toBe(etag);
    expect(await (await unconcerned).text()).toBe('df-job-a1-master-0');
  });

  it('responds to a wait immediately if the value differs from last_etag', async () => {
    preempt();
    expect(await read('/instance/preempted?wait_for_change=true&last_etag=0')).toBe('TRUE');
  });

  it('responds to a wait with the current value after its timeout', async () => {
    const etag = (await ask('/instance/preempted')).headers.get('ETag');
    const json = await ask(`/instance/preempted?wait_for_change=true&timeout_sec=0&last_etag=${etag}`);
    expect(await json.text()).toBe('FALSE');
    expect(json.headers.get('ETag')).toBe(etag);
    expect((await ask('/instance/preempted?wait_for_change=true&timeout_sec=-1')).status).toBe(400);
  });

  it('rejects to be written', async () => {
    expect((await ask('/instance/name', { method: 'PUT', body: 'x' })).status).toBe(405);
  });

  it('rejects a name that is not valid URL encoding as a bad request', async () => {
    expect((await ask('/instance/attributes/%E0%A4%A')).status).toBe(400);
  });

  it('ends waiting requests when it is closed, and reopens on the same port', async () => {
    const waiting = expect(ask('/instance/preempted?wait_for_change=true')).rejects.toThrow();
    await ask('/instance/name');
    await vm().server.close();
    await waiting;
    const again = await openMetadataServer({
      port: vm().server.port,
      tree: createVmMetadata({ identity: vm().identity, clock: { now: Date.now }, record: () => vm().record }),
    });
    expect(again.port).toBe(vm().server.port);
    vm().server = again;
  });

  it('works with the standard library of Python as the agent uses it', async () => {
    const program = `import urllib.request as u
print(u.urlopen(u.Request('${vm().root}/instance/attributes/startup-script', headers={'Metadata-Flavor': 'Google'})).read().decode())`;
    const { stdout } = await promisify(execFile)('python3', ['-c', program]);
    expect(stdout).toBe('exit\n');
  });
});
