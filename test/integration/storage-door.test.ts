import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { ReadableStream } from 'node:stream/web';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStorageDoor, type StorageDoorUnderTest } from './storage-door-under-test.ts';

const bucket = 'door-bucket';
const JSON_TYPE = { 'content-type': 'application/json' };
const MIB = 1_048_576;

let door: StorageDoorUnderTest;
const api = (path: string) => `${door.origin()}/storage/v1${path}`;
const objectUrl = (name: string) => api(`/b/${bucket}/o/${encodeURIComponent(name)}`);
const uploadUrl = (parameters: Record<string, string>) =>
  `${door.origin()}/upload/storage/v1/b/${bucket}/o?${new URLSearchParams(parameters)}`;

beforeAll(async () => {
  door = await openStorageDoor();
  const created = await fetch(api('/b?project=p'), {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify({ name: bucket }),
  });
  expect(created.status).toBe(200);
});
afterAll(() => door.close());

async function upload(
  name: string,
  body: string | Uint8Array<ArrayBuffer>,
  init: { parameters?: Record<string, string>; headers?: Record<string, string> } = {},
) {
  const url = uploadUrl({ uploadType: 'media', name, ...init.parameters });
  return await fetch(url, { method: 'POST', headers: { 'content-type': 'text/plain', ...init.headers }, body });
}

async function generationOf(response: Response): Promise<string> {
  return ((await response.json()) as { generation: string }).generation;
}

async function expectProblem(response: Response, status: number, reason: string): Promise<void> {
  const body = (await response.json()) as { error: { code: number; message: string; errors: { reason: string }[] } };
  expect([response.status, body.error.code, body.error.errors[0]?.reason]).toEqual([status, status, reason]);
  expect(body.error.message).not.toBe('');
}

async function countIncomingBytes(): Promise<number> {
  const incoming = join(door.directory, 'incoming');
  const names = await readdir(incoming);
  return (await Promise.all(names.map((name) => stat(join(incoming, name))))).reduce((sum, { size }) => sum + size, 0);
}

async function startSession(
  name: string,
  init: { body?: object; parameters?: Record<string, string> } = {},
): Promise<string> {
  const url = uploadUrl({ uploadType: 'resumable', name, ...init.parameters });
  const response = await fetch(url, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(init.body ?? {}) });
  expect(response.status).toBe(200);
  return response.headers.get('location') ?? '';
}

async function putChunk(session: string, contentRange: string, body?: Uint8Array<ArrayBuffer>): Promise<Response> {
  return await fetch(session, {
    method: 'PUT',
    headers: { 'content-range': contentRange },
    redirect: 'manual',
    ...(body && { body }),
  });
}

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
  ])('are kept exactly: %j', async (name) => {
    const uploaded = (await (await upload(name, name)).json()) as { name: string; mediaLink: string };
    expect(uploaded.name).toBe(name);
    expect(await (await fetch(`${objectUrl(name)}?alt=media`)).text()).toBe(name);
    expect(await (await fetch(uploaded.mediaLink)).text()).toBe(name);
    expect(await (await fetch(`${door.origin()}/${bucket}/${encodeURIComponent(name)}`)).text()).toBe(name);
    const listed = await fetch(api(`/b/${bucket}/o?prefix=${encodeURIComponent(name)}`));
    expect(((await listed.json()) as { items: { name: string }[] }).items.map((item) => item.name)).toContain(name);
    expect((await fetch(objectUrl(name), { method: 'DELETE' })).status).toBe(204);
    expect((await fetch(objectUrl(name))).status).toBe(404);
  });

  it('are refused when they are not UTF-8, too long or empty', async () => {
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
  ])('answers the range $range as RFC 9110 has it', async ({ range, status, text, contentRange }) => {
    await upload('digits', '0123456789');
    const response = await fetch(`${objectUrl('digits')}?alt=media`, { headers: { range } });
    expect([response.status, await response.text(), response.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
  });

  it('refuses a range behind the end', async () => {
    await upload('digits', '0123456789');
    await expectProblem(
      await fetch(`${objectUrl('digits')}?alt=media`, { headers: { range: 'bytes=10-' } }),
      416,
      'requestedRangeNotSatisfiable',
    );
  });

  it('sends the checksums and the generation along, also without the bytes', async () => {
    const generation = await generationOf(await upload('zeros', new Uint8Array(32)));
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${objectUrl('zeros')}?alt=media`, { method });
      expect(response.headers.get('x-goog-hash')).toBe('crc32c=ipE2qg==,md5=cLyPS3KoaSFGi/joRB3OUQ==');
      expect(response.headers.get('x-goog-generation')).toBe(generation);
      expect(response.headers.get('content-length')).toBe('32');
      expect((await response.arrayBuffer()).byteLength).toBe(method === 'GET' ? 32 : 0);
    }
  });

  it('gives the generation that was asked for, also after it was overwritten', async () => {
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

  it('knows of nothing soft-deleted, since what is overwritten or deleted stays as a noncurrent generation', async () => {
    const generation = await generationOf(await upload('hard', 'x'));
    const listed = await fetch(api(`/b/${bucket}/o?prefix=hard&softDeleted=True`));
    expect(await listed.json()).toEqual({ kind: 'storage#objects' });
    expect(await (await fetch(api('/b?softDeleted=true'))).json()).toEqual({ kind: 'storage#buckets' });
    const asked = await fetch(`${objectUrl('hard')}?generation=${generation}&softDeleted=true`);
    await expectProblem(asked, 404, 'notFound');
  });

  it('unpacks what is stored gzipped only for who does not take gzip', async () => {
    const packed = gzipSync('packed text');
    await upload('packed', packed, { parameters: { contentEncoding: 'gzip' } });
    const raw = async (acceptEncoding: string) => {
      const asked = request(`${objectUrl('packed')}?alt=media`, {
        headers: { 'accept-encoding': acceptEncoding },
      }).end();
      const [response] = await once(asked, 'response');
      return Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
    };
    expect((await raw('identity')).toString()).toBe('packed text');
    expect((await raw('gzip, deflate')).equals(packed)).toBe(true);
  });
});

describe('preconditions', () => {
  it('hold back writes, deletions and reads', async () => {
    const generation = await generationOf(await upload('guarded', 'one'));
    await expectProblem(
      await upload('guarded', 'two', { parameters: { ifGenerationMatch: '0' } }),
      412,
      'conditionNotMet',
    );
    await expectProblem(
      await upload('guarded', 'two', { parameters: { ifMetagenerationMatch: '2' } }),
      412,
      'conditionNotMet',
    );
    await expectProblem(
      await fetch(`${objectUrl('guarded')}?ifGenerationMatch=1`, { method: 'DELETE' }),
      412,
      'conditionNotMet',
    );
    expect((await fetch(`${objectUrl('guarded')}?ifGenerationNotMatch=${generation}`)).status).toBe(304);
    await expectProblem(await upload('guarded', 'two', { parameters: { ifGenerationMatch: 'x' } }), 400, 'invalid');
    expect((await upload('guarded', 'two', { parameters: { ifGenerationMatch: generation } })).status).toBe(200);
  });

  it('are asked at the end of a resumable upload', async () => {
    const session = await startSession('raced', { parameters: { ifGenerationMatch: '0' } });
    await upload('raced', 'first');
    await expectProblem(await putChunk(session, 'bytes 0-3/4', Buffer.from('late')), 412, 'conditionNotMet');
    expect(await (await fetch(`${objectUrl('raced')}?alt=media`)).text()).toBe('first');
  });
});

describe('checksums that the client sends', () => {
  const wrong = { crc32c: 'AAAAAA==', md5: '1B2M2Y8AsgTpgAmY7PhCfg==' };

  it('refuse other bytes, and nothing is stored', async () => {
    for (const [kind, value] of Object.entries(wrong)) {
      await expectProblem(
        await upload('damaged', 'bytes', { headers: { 'x-goog-hash': `${kind}=${value}` } }),
        400,
        'invalid',
      );
    }
    const body = `--b\r\n\r\n${JSON.stringify({ md5Hash: wrong.md5 })}\r\n--b\r\n\r\nbytes\r\n--b--`;
    const headers = { 'content-type': 'multipart/related; boundary=b' };
    await expectProblem(
      await fetch(uploadUrl({ uploadType: 'multipart', name: 'damaged' }), { method: 'POST', headers, body }),
      400,
      'invalid',
    );
    const session = await startSession('damaged', { body: { crc32c: wrong.crc32c } });
    await expectProblem(await putChunk(session, 'bytes 0-4/5', Buffer.from('bytes')), 400, 'invalid');
    expect((await fetch(objectUrl('damaged'))).status).toBe(404);
  });

  it('let the right bytes pass', async () => {
    const md5 = createHash('md5').update('bytes').digest('base64');
    expect((await upload('sound', 'bytes', { headers: { 'x-goog-hash': `md5=${md5}` } })).status).toBe(200);
  });
});

describe('a simple upload', () => {
  it('stores nothing when the connection is cut on the way', async () => {
    const url = uploadUrl({ uploadType: 'media', name: 'half' });
    const cut = request(url, { method: 'POST', headers: { 'content-length': MIB } });
    const failed = once(cut, 'error').catch((error) => error);
    cut.write(randomBytes(MIB / 2));
    await expect.poll(countIncomingBytes).toBeGreaterThan(0);
    cut.destroy(new Error('cut'));
    await failed;
    await expect.poll(() => readdir(join(door.directory, 'incoming'))).toEqual([]);
    expect((await fetch(objectUrl('half'))).status).toBe(404);
  });

  it('may go to a plain path, where slashes stand as they are', async () => {
    const headers = { 'content-type': 'text/x', 'x-goog-if-generation-match': '0' };
    const put = () =>
      fetch(`${door.origin()}/${bucket}/plain/path%20name`, { method: 'PUT', headers, body: 'by curl' });
    expect((await put()).status).toBe(200);
    expect(await (await fetch(objectUrl('plain/path name'))).json()).toMatchObject({
      contentType: 'text/x',
      size: '7',
    });
    const refused = await put();
    expect([refused.status, await refused.text()]).toEqual([
      412,
      expect.stringContaining('<Code>PreconditionFailed</Code>'),
    ]);
  });
});

describe('a resumable upload', () => {
  const content = randomBytes(MIB);

  it('goes on after the death of the cloud from what was received', async () => {
    const session = await startSession('survivor');
    const first = await putChunk(session, `bytes 0-${MIB / 2 - 1}/${MIB}`, content.subarray(0, MIB / 2));
    expect([first.status, first.headers.get('range')]).toEqual([308, `bytes=0-${MIB / 2 - 1}`]);
    await door.killAndRestart();
    const resumed = `${door.origin()}${new URL(session).pathname}${new URL(session).search}`;
    const asked = await putChunk(resumed, 'bytes */*');
    expect([asked.status, asked.headers.get('range')]).toEqual([308, `bytes=0-${MIB / 2 - 1}`]);
    const overlap = 1_000;
    const rest = await putChunk(
      resumed,
      `bytes ${MIB / 2 - overlap}-${MIB - 1}/${MIB}`,
      content.subarray(MIB / 2 - overlap),
    );
    expect(rest.status).toBe(200);
    const again = await putChunk(resumed, `bytes */${MIB}`);
    expect(await again.json()).toEqual(await rest.json());
    const stored = await fetch(`${objectUrl('survivor')}?alt=media`);
    expect(Buffer.from(await stored.arrayBuffer()).equals(content)).toBe(true);
  });

  it('goes on from what was received after the connection was cut', async () => {
    const session = await startSession('cut');
    const headers = { 'content-range': `bytes 0-${MIB - 1}/${MIB}`, 'content-length': MIB };
    const cut = request(session, { method: 'PUT', headers });
    const failed = once(cut, 'error').catch((error) => error);
    cut.write(content.subarray(0, MIB / 2));
    await expect.poll(countIncomingBytes).toBeGreaterThan(0);
    cut.destroy(new Error('cut'));
    await failed;
    await expect.poll(async () => (await putChunk(session, 'bytes */*')).status).toBe(308);
    const { headers: state } = await putChunk(session, 'bytes */*');
    const received = Number(/bytes=0-(\d+)/.exec(state.get('range') ?? '')?.[1]) + 1;
    expect(received).toBeGreaterThan(0);
    expect((await putChunk(session, `bytes ${received}-${MIB - 1}/${MIB}`, content.subarray(received))).status).toBe(
      200,
    );
    const stored = await fetch(`${objectUrl('cut')}?alt=media`);
    expect(Buffer.from(await stored.arrayBuffer()).equals(content)).toBe(true);
  });

  it('may be of unknown size until its last chunk, and may be empty', async () => {
    const session = await startSession('grown');
    expect((await putChunk(session, 'bytes 0-2/*', Buffer.from('abc'))).status).toBe(308);
    expect((await putChunk(session, 'bytes 3-5/6', Buffer.from('def'))).status).toBe(200);
    expect(await (await fetch(`${objectUrl('grown')}?alt=media`)).text()).toBe('abcdef');
    expect((await putChunk(await startSession('nothing'), 'bytes */0')).status).toBe(200);
    expect(((await (await fetch(objectUrl('nothing'))).json()) as { size: string }).size).toBe('0');
  });

  it('refuses chunks that do not join, sessions that are none, and ends when it is cancelled', async () => {
    const session = await startSession('gap');
    await expectProblem(await putChunk(session, 'bytes 5-9/10', Buffer.from('56789')), 400, 'invalid');
    await expectProblem(await putChunk(session, 'elephants 5', Buffer.from('5')), 400, 'invalid');
    expect((await fetch(session, { method: 'DELETE' })).status).toBe(499);
    await expectProblem(await putChunk(session, 'bytes 0-0/1', Buffer.from('0')), 404, 'notFound');
  });
});

describe('what is missing', () => {
  it('is said in the form and with the code of Cloud Storage', async () => {
    await expectProblem(await fetch(objectUrl('missing')), 404, 'notFound');
    await expectProblem(await fetch(api('/b/no-such-bucket/o')), 404, 'notFound');
    await expectProblem(await fetch(api('/b/no-such-bucket')), 404, 'notFound');
    await expectProblem(await fetch(api(`/b/${bucket}/o?matchGlob=*`)), 400, 'invalid');
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
    const xml = await fetch(`${door.origin()}/${bucket}/a<b>`);
    expect([xml.status, await xml.text()]).toEqual([404, expect.stringContaining('<Code>NoSuchKey</Code>')]);
  });
});

describe('a file of 200 MB', () => {
  it('passes through in both directions without being held in memory', async () => {
    const sizeBytes = 200 * MIB;
    const piece = randomBytes(MIB);
    const before = await door.peakMemoryBytes();
    const sent = createHash('sha256');
    const body = (async function* () {
      for (let count = 0; count < sizeBytes / MIB; count++) {
        sent.update(piece);
        yield piece;
      }
    })();
    const url = uploadUrl({ uploadType: 'media', name: 'large' });
    const uploaded = await fetch(url, {
      method: 'POST',
      body: ReadableStream.from(body),
      duplex: 'half',
    } as RequestInit);
    expect(((await uploaded.json()) as { size: string }).size).toBe(String(sizeBytes));
    const received = createHash('sha256');
    for await (const chunk of (await fetch(`${objectUrl('large')}?alt=media`)).body ?? []) {
      received.update(chunk);
    }
    expect(received.digest('hex')).toBe(sent.digest('hex'));
    expect((await door.peakMemoryBytes()) - before).toBeLessThan(100 * MIB);
  });
});
