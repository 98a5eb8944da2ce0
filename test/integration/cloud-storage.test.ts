import { once } from 'node:events';
import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  bucket,
  expectProblem,
  generationOf,
  openCloudStorageForAllTests,
} from '../support/embedded/cloud-storage-requests.ts';

const { server, api, objectUrl, upload } = openCloudStorageForAllTests();

describe('names in paths', () => {
  it.each([
    'ünïcode/日本.txt',
    'with space',
    'a%2Fb',
    'a%2fb%',
    'q?x=1&y#frag',
    '+plus+',
    'a//b/',
    'b/o/c',
    '"\'<&>\\',
    '%',
    'a/compose',
  ])('are stored exactly: %j', async (name) => {
    const uploaded = (await (await upload(name, name)).json()) as { name: string; mediaLink: string };
    expect(uploaded.name).toBe(name);
    expect(await (await fetch(`${objectUrl(name)}?alt=media`)).text()).toBe(name);
    expect(await (await fetch(uploaded.mediaLink)).text()).toBe(name);
    expect(await (await fetch(`${server().origin()}/${bucket}/${encodeURIComponent(name)}`)).text()).toBe(name);
    const listed = await fetch(api(`/b/${bucket}/o?prefix=${encodeURIComponent(name)}`));
    expect(((await listed.json()) as { items: { name: string }[] }).items.map((item) => item.name)).toContain(name);
    expect((await fetch(objectUrl(name), { method: 'DELETE' })).status).toBe(204);
    expect((await fetch(objectUrl(name))).status).toBe(404);
  });

  it('are rejected if not UTF-8, too long or empty', async () => {
    await expectProblem(await fetch(api(`/b/${bucket}/o/%ff`)), 400, 'invalid');
    await expectProblem(await upload('x'.repeat(1_025), ''), 400, 'invalid');
    await expectProblem(await upload('', ''), 400, 'invalid');
  });
});

describe('reading', () => {
  it.each([
    { range: 'bytes=2-4', status: 206, text: '234', contentRange: 'bytes 2-4/10' },
    { range: 'bytes=7-', status: 206, text: '789', contentRange: 'bytes 7-9/10' },
    { range: 'bytes=-3', status: 206, text: '789', contentRange: 'bytes 7-9/10' },
    { range: 'bytes=5-100', status: 206, text: '56789', contentRange: 'bytes 5-9/10' },
    { range: 'bytes=0-0', status: 206, text: '0', contentRange: 'bytes 0-0/10' },
    { range: 'bytes=4-2', status: 200, text: '0123456789', contentRange: null },
    { range: 'bytes=0-1,4-5', status: 200, text: '0123456789', contentRange: null },
    { range: 'lines=1-2', status: 200, text: '0123456789', contentRange: null },
  ])('serves the range $range according to RFC 9110', async ({ range, status, text, contentRange }) => {
    await upload('digits', '0123456789');
    const response = await fetch(`${objectUrl('digits')}?alt=media`, { headers: { range } });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  it('rejects a range past the end, and says how long the object is', async () => {
    await upload('digits', '0123456789');
    const past = await fetch(`${objectUrl('digits')}?alt=media`, { headers: { range: 'bytes=10-' } });
    expect(past.headers.get('content-range')).toBe('bytes */10');
    await expectProblem(past, 416, 'requestedRangeNotSatisfiable');
  });

  it('returns checksums and generation, also for HEAD', async () => {
    const generation = await generationOf(await upload('zeros', new Uint8Array(32)));
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${objectUrl('zeros')}?alt=media`, { method });
      expect(response.headers.get('x-goog-hash')).toBe('crc32c=ipE2qg==,md5=cLyPS3KoaSFGi/joRB3OUQ==');
      expect(response.headers.get('x-goog-generation')).toBe(generation);
      expect(response.headers.get('content-length')).toBe('32');
      expect((await response.arrayBuffer()).byteLength).toBe(method === 'GET' ? 32 : 0);
    }
  });

  it('returns the requested generation, also after it was overwritten', async () => {
    const old = await generationOf(await upload('versioned', 'old'));
    const live = await generationOf(await upload('versioned', 'new'));
    const read = async (query: string) => (await fetch(`${objectUrl('versioned')}?alt=media${query}`)).text();
    expect([await read(''), await read(`&generation=${old}`)]).toEqual(['new', 'old']);
    const listed = await fetch(api(`/b/${bucket}/o?prefix=versioned&versions=True`));
    const items = ((await listed.json()) as { items: { generation: string; timeDeleted?: string }[] }).items;
    expect(items.map((item) => [item.generation, item.timeDeleted !== undefined])).toEqual([
      [old, true],
      [live, false],
    ]);
  });

  it('has no soft-deleted objects: overwritten and deleted ones become noncurrent generations', async () => {
    const generation = await generationOf(await upload('hard', 'x'));
    const listed = await fetch(api(`/b/${bucket}/o?prefix=hard&softDeleted=True`));
    expect(await listed.json()).toEqual({ kind: 'storage#objects' });
    expect(await (await fetch(api('/b?softDeleted=true'))).json()).toEqual({ kind: 'storage#buckets' });
    const response = await fetch(`${objectUrl('hard')}?generation=${generation}&softDeleted=true`);
    await expectProblem(response, 404, 'notFound');
  });

  it('decompresses gzipped objects only for clients that do not accept gzip', async () => {
    const packed = gzipSync('packed text');
    await upload('packed', packed, { parameters: { contentEncoding: 'gzip' } });
    const raw = async (acceptEncoding: string) => {
      const sent = request(`${objectUrl('packed')}?alt=media`, {
        headers: { 'accept-encoding': acceptEncoding },
      }).end();
      const [response] = await once(sent, 'response');
      return Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
    };
    expect((await raw('identity')).toString()).toBe('packed text');
    expect((await raw('gzip, deflate')).equals(packed)).toBe(true);
  });
});

describe('composing', () => {
  const compose = (target: string, names: readonly string[], query = '') =>
    fetch(`${objectUrl(target)}/compose${query}`, {
      method: 'POST',
      body: JSON.stringify({ sourceObjects: names.map((name) => ({ name })), deleteSourceObjects: true }),
    });
  const statusesOf = (urls: readonly string[]) => Promise.all(urls.map(async (url) => (await fetch(url)).status));

  it('deletes the sources permanently if asked to, and only if the object was composed', async () => {
    const parts = ['part-1', 'part-2'];
    const uploaded: string[] = [];
    for (const name of parts) {
      uploaded.push(`${objectUrl(name)}?generation=${await generationOf(await upload(name, name))}`);
    }
    await expectProblem(await compose('whole', parts, '?ifGenerationMatch=1'), 412, 'conditionNotMet');
    await expectProblem(await compose('whole', [...parts, 'missing']), 404, 'notFound');
    expect(await statusesOf(parts.map(objectUrl))).toEqual([200, 200]);

    const whole = (await (await compose('whole', parts, '?ifGenerationMatch=0')).json()) as object;

    expect(whole).toMatchObject({ size: '12', componentCount: 2 });
    expect(await (await fetch(`${objectUrl('whole')}?alt=media`)).text()).toBe('part-1part-2');
    expect(await statusesOf([...parts.map(objectUrl), ...uploaded])).toEqual([404, 404, 404, 404]);
    await expectProblem(await compose('whole', parts, '?ifGenerationMatch=0'), 404, 'notFound');
  });

  it('takes 1 to 32 sources', async () => {
    await upload('one', '1');
    const names = (count: number) => Array.from({ length: count }, () => 'one');
    await expectProblem(await compose('none', []), 400, 'invalid');
    await expectProblem(await compose('too-many', names(33)), 400, 'invalid');
    expect(await (await compose('most', names(32))).json()).toMatchObject({ size: '32', componentCount: 32 });
  });
});

describe('parameters and fields', () => {
  const patch = (body: object) => fetch(objectUrl('described'), { method: 'PATCH', body: JSON.stringify(body) });
  const readMessage = async (response: Response) =>
    ((await response.json()) as { error: { message: string } }).error.message;

  it('that would be lost are rejected by their name, in every kind of request', async () => {
    await upload('described', 'x');
    const target = objectUrl('described');
    const multipart = `--b\r\n\r\n{"name":"m","eventBasedHold":true}\r\n--b\r\n\r\nx\r\n--b--`;
    const insertUrl = `${server().origin()}/upload/storage/v1/b/${bucket}/o`;
    const post = (url: string, body?: string, headers = {}) =>
      fetch(url, { method: 'POST', headers, body: body ?? null });
    const rejected = {
      filter: await fetch(api(`/b/${bucket}/o?filter=contexts.a%3A*`)),
      restoreToken: await fetch(`${target}?restoreToken=t`),
      predefinedAcl: await upload('acl', 'x', { parameters: { predefinedAcl: 'private' } }),
      ifMetagenerationMatch: await fetch(api(`/b/${bucket}?ifMetagenerationMatch=7`)),
      destinationKmsKeyName: await post(`${target}/rewriteTo/b/${bucket}/o/copy?destinationKmsKeyName=k`),
      temporaryHold: await patch({ temporaryHold: true }),
      contexts: await patch({ contexts: { custom: { a: { value: 'b' } } } }),
      kmsKeyName: await post(`${target}/copyTo/b/${bucket}/o/copy`, '{"kmsKeyName":"k"}'),
      retention: await post(
        `${target}/compose`,
        '{"sourceObjects":[{"name":"described"}],"destination":{"retention":{"mode":"Locked"}}}',
      ),
      eventBasedHold: await post(`${insertUrl}?uploadType=multipart`, multipart, {
        'content-type': 'multipart/related; boundary=b',
      }),
      acl: await post(`${insertUrl}?uploadType=resumable&name=n`, '{"acl":[{"entity":"allUsers","role":"READER"}]}'),
      labels: await post(api('/b?project=p'), '{"name":"labeled","labels":{"a":"b"}}'),
    };
    for (const [name, response] of Object.entries(rejected)) {
      expect([name, response.status]).toEqual([name, 400]);
      expect(await readMessage(response)).toMatch(
        new RegExp(`^The embedded cloud does not have the (parameter|field) ${name} `),
      );
    }
  });

  it('of all of Google’s APIs, those without effect, and those that only the service sets are accepted', async () => {
    const read = await (await upload('described', 'x', { parameters: { predefinedAcl: '', quotaUser: 'u' } })).json();
    const query = 'alt=json&prettyPrint=false&fields=name&key=k&userProject=p&projection=full&tensorstore=7';
    expect((await fetch(`${objectUrl('described')}?${query}`)).status).toBe(200);
    expect((await patch({ ...(read as object), temporaryHold: false, acl: [], contexts: null })).status).toBe(200);
  });

  it('store the custom time of an object', async () => {
    await upload('described', 'x');
    await patch({ customTime: '2026-11-01T00:00:00.123Z' });
    expect(await (await fetch(objectUrl('described'))).json()).toMatchObject({
      customTime: '2026-11-01T00:00:00.123Z',
    });
    await expectProblem(await patch({ customTime: 'yesterday' }), 400, 'invalid');
  });

  it('list the placeholders of folders, which gcsfuse creates', async () => {
    for (const name of ['f/', 'f/a', 'g/a', 'h']) {
      await upload(`folders/${name}`, '');
    }
    const list = async (query: string) =>
      (await (await fetch(api(`/b/${bucket}/o?prefix=folders/&delimiter=/${query}`))).json()) as {
        items: { name: string }[];
        prefixes: string[];
      };
    const [withPlaceholders, without] = [await list('&includeTrailingDelimiter=true'), await list('')];
    expect(withPlaceholders.items.map(({ name }) => name)).toEqual(['folders/f/', 'folders/h']);
    expect(without.items.map(({ name }) => name)).toEqual(['folders/h']);
    expect([withPlaceholders.prefixes, without.prefixes]).toEqual([
      ['folders/f/', 'folders/g/'],
      ['folders/f/', 'folders/g/'],
    ]);
  });

  it('of a test of permissions are granted: requests need no credentials', async () => {
    const test = (name: string) =>
      fetch(api(`/b/${name}/iam/testPermissions?permissions=storage.objects.create&permissions=storage.objects.list`));
    expect(await (await test(bucket)).json()).toEqual({
      kind: 'storage#testIamPermissionsResponse',
      permissions: ['storage.objects.create', 'storage.objects.list'],
    });
    await expectProblem(await test('none-such'), 404, 'notFound');
  });
});

describe('batch requests', () => {
  it('return the responses in order, as sent by Python’s client', async () => {
    await upload('batched-1', 'x');
    await upload('batched-2', 'x');
    const part = (call: string, body = '') =>
      `--==b==\r\nContent-Type: application/http\r\nMIME-Version: 1.0\r\n\r\n${call} HTTP/1.1\r\n` +
      `${body === '' ? '' : `Content-Type: application/json\r\n\r\n${body}`}\r\n`;
    const send = (...parts: readonly string[]) =>
      fetch(`${server().origin()}/batch/storage/v1`, {
        method: 'POST',
        headers: { 'content-type': 'multipart/mixed; boundary="==b=="' },
        body: `${parts.join('')}--==b==--\r\n`,
      });
    const answer = await send(
      part(`PATCH ${objectUrl('batched-1')}`, '{"contentType":"text/y"}'),
      part(`DELETE ${objectUrl('batched-2')}`),
      part(`DELETE ${objectUrl('batched-3')}`),
    );
    const text = await answer.text();
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '204', '404']);
    expect(text).toContain('"contentType":"text/y"');
    const many = Array.from({ length: 101 }, () => part(`GET ${objectUrl('batched-1')}`));
    await expectProblem(await send(...many), 400, 'invalid');
  });
});

describe('errors', () => {
  it('have the format and the codes of Cloud Storage', async () => {
    await expectProblem(await fetch(objectUrl('missing')), 404, 'notFound');
    await expectProblem(await fetch(api('/b/no-such-bucket/o')), 404, 'notFound');
    await expectProblem(await fetch(api('/b/no-such-bucket')), 404, 'notFound');
    await expectProblem(await fetch(api(`/b/${bucket}/o?matchGlob=******`.concat('*a'.repeat(6)))), 400, 'invalid');
    await expectProblem(await fetch(api(`/b/${bucket}/o?matchGlob=*&delimiter=/`)), 400, 'invalid');
    await expectProblem(await fetch(api(`/b/${bucket}/o?matchGlob=%7Ba`)), 400, 'invalid');
    await expectProblem(await fetch(api(`/b/${bucket}/o?pageToken=none`)), 400, 'invalid');
    await expectProblem(await fetch(api(`/b/${bucket}/iam`)), 405, 'methodNotAllowed');
    await expectProblem(
      await fetch(api('/b'), { method: 'POST', body: JSON.stringify({ name: bucket }) }),
      409,
      'conflict',
    );
    await expectProblem(
      await fetch(api('/b'), { method: 'POST', body: JSON.stringify({ name: 'No Bucket!' }) }),
      400,
      'invalid',
    );
    await expectProblem(await fetch(api('/b'), { method: 'POST', body: '{' }), 400, 'invalid');
    await upload('occupant', 'x');
    await expectProblem(await fetch(api(`/b/${bucket}`), { method: 'DELETE' }), 409, 'conflict');
    // Node's client sends requests without a base path if its endpoint comes from the environment.
    for (const path of [
      `/b/${bucket}/iam`,
      `/b/${bucket}/acl`,
      '/b/none/notificationConfigs',
      '/projects/p/serviceAccount',
    ]) {
      await expectProblem(await fetch(`${server().origin()}${path}`), 405, 'methodNotAllowed');
    }
    for (const [method, query] of Object.entries({ POST: 'uploads', PUT: 'partNumber=1&uploadId=u' })) {
      const part = await fetch(`${server().origin()}/${bucket}/occupant?${query}`, { method });
      expect([part.status, await part.text()]).toEqual([405, expect.stringContaining('does not support multipart')]);
    }
    const xml = await fetch(`${server().origin()}/${bucket}/a<b>`);
    expect([xml.status, await xml.text()]).toEqual([404, expect.stringContaining('<Code>NoSuchKey</Code>')]);
  });
});
