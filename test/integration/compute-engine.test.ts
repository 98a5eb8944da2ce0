import { describe, expect, it } from 'vitest';
import { BODY, openComputeEngineForAllTests, ZONE } from '../support/embedded/compute-engine-requests.ts';

const { compute, call, insert } = openComputeEngineForAllTests();

describe('the Compute Engine emulator', () => {
  it('lists the other zones if one is unreachable, to clients that accept partial results', async () => {
    compute().outages.set('local1-b', true);
    const failed = await call('/aggregated/instances');
    const partial = await call('/aggregated/instances?returnPartialSuccess=true');
    const inZone = await call('/zones/local1-b/instances');
    compute().outages.set('local1-b', false);

    expect(failed).toMatchObject({ status: 500, json: { error: { errors: [{ reason: 'internalError' }] } } });
    expect(inZone.status).toBe(500);
    expect(partial).toMatchObject({
      status: 200,
      json: {
        unreachables: ['zones/local1-b'],
        items: {
          'zones/local1-a': { warning: { code: 'NO_RESULTS_ON_PAGE' } },
          'zones/local1-b': { warning: { code: 'UNREACHABLE' } },
        },
      },
    });
    expect((await call('/aggregated/instances')).json).not.toHaveProperty('unreachables');
  });

  it.each([
    ['/zones/nowhere1-a/instances', "The resource 'projects/p/zones/nowhere1-a' was not found"],
    [`${ZONE}/instances/none`, `The resource 'projects/p${ZONE}/instances/none' was not found`],
    ['/../other/aggregated/instances', "The resource 'projects/other' was not found"],
  ])('returns 404 for %s', async (path, message) => {
    expect(await call(path)).toMatchObject({
      status: 404,
      json: { error: { code: 404, message, errors: [{ message, domain: 'global', reason: 'notFound' }] } },
    });
  });

  it.each([
    ['GET', '/zones'],
    ['GET', `${ZONE}/machineTypes/n1-standard-4`],
    ['GET', '/global/images'],
    ['GET', `${ZONE}/operations`],
    ['GET', `${ZONE}/instances/vm-1/serialPort`],
    ['POST', `${ZONE}/instances/vm-1/stop`],
    ['POST', `${ZONE}/instances/vm-1/setLabels`],
    ['POST', `${ZONE}/instances/vm-1/suspend`],
  ])('says of %s %s that it is not supported, and where the supported methods are', async (method, path) => {
    await insert();
    const message = `The embedded cloud does not support the Compute Engine method ${method} /compute/v1/projects/p${path}. Those that it supports are in docs/embedded-cloud.md.`;
    expect(await call(path, { method, ...(method === 'POST' && { body: {} }) })).toMatchObject({
      status: 404,
      json: { error: { code: 404, message, errors: [{ message, domain: 'global', reason: 'notFound' }] } },
    });
  });

  it.each([
    ['a body that is not JSON', '{', 'The body of the request is not JSON.'],
    ['no body', undefined, 'The body of the request is not JSON.'],
    ['a body that is not an instance', '[]', "Invalid value for field 'resource."],
  ])('rejects %s', async (_, body, message) => {
    const url = `${compute().origin}/compute/v1/projects/p${ZONE}/instances`;
    const response = await fetch(url, { method: 'POST', ...(body !== undefined && { body }) });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(message) } });
  });

  it('rejects an invalid request id', async () => {
    for (const requestId of ['x', '00000000-0000-0000-0000-000000000000']) {
      expect((await call(`${ZONE}/instances?requestId=${requestId}`, { body: BODY })).status).toBe(400);
    }
  });

  it('serves batch requests', async () => {
    await insert();
    const part = (id: string, path: string) =>
      `--b\r\nContent-Type: application/http\r\nContent-ID: <${id}>\r\n\r\nGET ${path} HTTP/1.1\r\nAccept: */*\r\n\r\n\r\n`;
    const path = `/compute/v1/projects/p${ZONE}/instances`;
    const response = await fetch(`${compute().origin}/batch/compute/v1`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/mixed; boundary="b"' },
      body: `${part('batch+1', `${path}/vm-1`)}${part('batch+2', `${path}/none`)}--b--\r\n`,
    });
    const json = await response.text();
    expect(json).toMatch(/Content-ID: <response-batch\+1>\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
    expect(json).toMatch(/Content-ID: <response-batch\+2>\r\n\r\nHTTP\/1\.1 404 Not Found\r\n/);
    const wrong = { method: 'POST', headers: { 'content-type': 'multipart/mixed; boundary=b' } };
    for (const body of ['', '--b\n\nGET /admin/status HTTP/1.1\n\n\n--b--\n', 'text']) {
      expect((await fetch(`${compute().origin}/batch/compute/v1`, { ...wrong, body })).status).toBe(400);
    }
  });
});
