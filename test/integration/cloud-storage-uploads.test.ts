import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { ReadableStream } from 'node:stream/web';
import { describe, expect, it } from 'vitest';
import {
  bucket,
  expectProblem,
  generationOf,
  JSON_TYPE,
  openCloudStorageForAllTests,
} from '../support/embedded/cloud-storage-requests.ts';

const MIB = 1_048_576;
const UNIT = 262_144;

const { server, objectUrl, uploadUrl, upload } = openCloudStorageForAllTests();

async function countIncomingBytes(): Promise<number> {
  const incoming = join(server().directory, 'incoming');
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

describe('preconditions', () => {
  it('prevent writes, deletions and reads', async () => {
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

  it('are checked at the end of a resumable upload', async () => {
    const session = await startSession('raced', { parameters: { ifGenerationMatch: '0' } });
    await upload('raced', 'first');
    await expectProblem(await putChunk(session, 'bytes 0-3/4', Buffer.from('late')), 412, 'conditionNotMet');
    expect(await (await fetch(`${objectUrl('raced')}?alt=media`)).text()).toBe('first');
  });
});

describe('checksums that the client sends', () => {
  const wrong = { crc32c: 'AAAAAA==', md5: '1B2M2Y8AsgTpgAmY7PhCfg==' };

  it('reject other bytes, and nothing is stored', async () => {
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

  it('accept the matching bytes', async () => {
    const md5 = createHash('md5').update('bytes').digest('base64');
    expect((await upload('sound', 'bytes', { headers: { 'x-goog-hash': `md5=${md5}` } })).status).toBe(200);
  });
});

describe('a simple upload', () => {
  it('stores nothing if the connection is closed during the upload', async () => {
    const url = uploadUrl({ uploadType: 'media', name: 'half' });
    const cut = request(url, { method: 'POST', headers: { 'content-length': MIB } });
    const failed = once(cut, 'error').catch((error) => error);
    cut.write(randomBytes(MIB / 2));
    await expect.poll(countIncomingBytes).toBeGreaterThan(0);
    cut.destroy(new Error('cut'));
    await failed;
    await expect.poll(() => readdir(join(server().directory, 'incoming'))).toEqual([]);
    expect((await fetch(objectUrl('half'))).status).toBe(404);
  });

  it('is accepted on a plain path with unescaped slashes', async () => {
    const headers = { 'content-type': 'text/x', 'x-goog-if-generation-match': '0' };
    const put = () =>
      fetch(`${server().origin()}/${bucket}/plain/path%20name`, { method: 'PUT', headers, body: 'by curl' });
    expect((await put()).status).toBe(200);
    expect(await (await fetch(objectUrl('plain/path name'))).json()).toMatchObject({
      contentType: 'text/x',
      size: '7',
    });
    const rejected = await put();
    expect([rejected.status, await rejected.text()]).toEqual([
      412,
      expect.stringContaining('<Code>PreconditionFailed</Code>'),
    ]);
  });
});

describe('a resumable upload', () => {
  const content = randomBytes(MIB);
  const chunk = content.subarray(0, UNIT);
  const readSize = async (name: string) =>
    Number(((await (await fetch(objectUrl(name))).json()) as { size: string }).size);

  it('continues from the bytes received after a crash of the cloud', async () => {
    const session = await startSession('survivor');
    const first = await putChunk(session, `bytes 0-${MIB / 2 - 1}/${MIB}`, content.subarray(0, MIB / 2));
    expect([first.status, first.headers.get('range')]).toEqual([308, `bytes=0-${MIB / 2 - 1}`]);
    await server().killAndRestart();
    const resumed = `${server().origin()}${new URL(session).pathname}${new URL(session).search}`;
    const queried = await putChunk(resumed, 'bytes */*');
    expect([queried.status, queried.headers.get('range')]).toEqual([308, `bytes=0-${MIB / 2 - 1}`]);
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

  it('continues from the bytes received after the connection was closed', async () => {
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

  it('can have an unknown size until its last chunk, and can be empty', async () => {
    const session = await startSession('grown');
    expect((await putChunk(session, `bytes 0-${UNIT - 1}/*`, chunk)).status).toBe(308);
    expect((await putChunk(session, `bytes ${UNIT}-${UNIT + 2}/${UNIT + 3}`, Buffer.from('def'))).status).toBe(200);
    expect(await readSize('grown')).toBe(UNIT + 3);
    expect((await putChunk(await startSession('nothing'), 'bytes */0')).status).toBe(200);
    expect(await readSize('nothing')).toBe(0);
  });

  it('receives chunks by POST, as gcsfs sends them', async () => {
    const session = await startSession('posted');
    const post = (contentRange: string, body: Uint8Array<ArrayBuffer>) =>
      fetch(session, { method: 'POST', headers: { 'content-range': contentRange }, body, redirect: 'manual' });
    expect((await post(`bytes 0-${UNIT - 1}/*`, chunk)).status).toBe(308);
    expect((await post(`bytes ${UNIT}-${UNIT + 2}/${UNIT + 3}`, Buffer.from('def'))).status).toBe(200);
    expect(await readSize('posted')).toBe(UNIT + 3);
  });

  it('answers 200 in place of 308 to clients that ask for it, as the Go client does', async () => {
    const session = await startSession('by-go');
    const put = (contentRange: string, body?: Uint8Array<ArrayBuffer>) =>
      fetch(session, {
        method: 'PUT',
        headers: { 'content-range': contentRange, 'x-guploader-no-308': 'yes' },
        ...(body && { body }),
      });
    const states = [await put('bytes */*'), await put(`bytes 0-${UNIT - 1}/*`, chunk)];
    expect(states.map(({ status, headers }) => [status, headers.get('x-http-status-code-override')])).toEqual([
      [200, '308'],
      [200, '308'],
    ]);
    expect(states.map(({ headers }) => headers.get('range'))).toEqual([null, `bytes=0-${UNIT - 1}`]);
    const done = await put(`bytes ${UNIT}-${2 * UNIT - 1}/${2 * UNIT}`, chunk);
    expect([done.status, done.headers.get('x-http-status-code-override')]).toEqual([200, null]);
    expect(await readSize('by-go')).toBe(2 * UNIT);
  });

  it('rejects a chunk that is not the last one and not a multiple of 256 KiB', async () => {
    const session = await startSession('crumbs');
    await expectProblem(await putChunk(session, 'bytes 0-2/*', Buffer.from('abc')), 400, 'invalid');
    await expectProblem(await putChunk(session, 'bytes 0-2/6', Buffer.from('abc')), 400, 'invalid');
    expect((await putChunk(session, 'bytes 0-2/3', Buffer.from('abc'))).status).toBe(200);
  });

  it('rejects gaps between chunks and unknown sessions, and ends when it is canceled', async () => {
    const session = await startSession('gap');
    await expectProblem(await putChunk(session, 'bytes 5-9/10', Buffer.from('56789')), 400, 'invalid');
    await expectProblem(await putChunk(session, 'elephants 5', Buffer.from('5')), 400, 'invalid');
    expect((await fetch(session, { method: 'DELETE' })).status).toBe(499);
    await expectProblem(await putChunk(session, 'bytes 0-0/1', Buffer.from('0')), 404, 'notFound');
  });
});

describe('a file of 200 MB', () => {
  it('is streamed in both directions without being buffered in memory', async () => {
    const sizeBytes = 200 * MIB;
    const piece = randomBytes(MIB);
    const before = await server().peakMemoryBytes();
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
    expect((await server().peakMemoryBytes()) - before).toBeLessThan(100 * MIB);
  });
});
