import { createHash, randomUUID } from 'node:crypto';
import { crc32c } from '@node-rs/crc32';
import { type Context, Hono } from 'hono';

export type StoredObject = {
  readonly bucket: string;
  readonly name: string;
  readonly body: Buffer;
  readonly generation: number;
  readonly metadata: Readonly<Record<string, string>>;
};

type Upload = { readonly bucket: string; readonly query: URLSearchParams; readonly metadata: Record<string, string> };
type Session = Upload & { readonly sizeBytes: number; body: Buffer };

type Content = { readonly body: Buffer | string; readonly metadata?: Readonly<Record<string, string>> };

const PAGE_COUNT = 2;

/**
 * A fake of the Cloud Storage JSON API, as far as the agent uses it, in memory and as strict: preconditions, checksums,
 * exact ranges, small pages. The contract suite tests the embedded cloud's own server; this one can inject faults.
 */
export function createBucketServer(bucketNames: readonly string[]) {
  const objects = new Map<string, StoredObject>();
  const sessions = new Map<string, Session>();
  let generation = 1_763_700_000_000_000;

  function put(bucket: string, name: string, content: Content): StoredObject {
    generation += 1;
    const stored = { bucket, name, body: Buffer.from(content.body), generation, metadata: content.metadata ?? {} };
    objects.set(`${bucket}/${name}`, stored);
    return stored;
  }

  function insert({ bucket, query, metadata }: Upload, body: Buffer): Response {
    const name = query.get('name') ?? '';
    const current = objects.get(`${bucket}/${name}`)?.generation ?? 0;
    if (query.has('ifGenerationMatch') && Number(query.get('ifGenerationMatch')) !== current) {
      return errorResponse(412, 'At least one of the pre-conditions you specified did not hold.');
    }
    return Response.json(describe(put(bucket, name, { body, metadata })));
  }

  async function upload(c: Context): Promise<Response> {
    const bucket = c.req.param('bucket') ?? '';
    const query = new URL(c.req.url).searchParams;
    if (!bucketNames.includes(bucket)) {
      return errorResponse(404, 'The specified bucket does not exist.');
    }
    if (query.get('uploadType') === 'resumable') {
      const { metadata = {} } = await c.req.json<{ metadata?: Record<string, string> }>();
      const id = randomUUID();
      const sizeBytes = Number(c.req.header('x-upload-content-length'));
      sessions.set(id, { bucket, query, metadata, sizeBytes, body: Buffer.alloc(0) });
      return new Response(null, { headers: { location: `${new URL(c.req.url).origin}/session/${id}` } });
    }
    const [head, body] = splitMultipart(Buffer.from(await c.req.arrayBuffer()), c.req.header('content-type') ?? '');
    const { metadata = {}, md5Hash } = JSON.parse(head.toString()) as {
      metadata?: Record<string, string>;
      md5Hash?: string;
    };
    if (md5Hash !== undefined && md5Hash !== md5(body)) {
      return errorResponse(400, 'Provided MD5 hash does not match calculated MD5 hash.');
    }
    return insert({ bucket, query, metadata }, body);
  }

  async function append(c: Context): Promise<Response> {
    const session = sessions.get(c.req.param('id') ?? '');
    if (session === undefined) {
      return errorResponse(404, 'No such session.');
    }
    const start = /^bytes (\d+)-/.exec(c.req.header('content-range') ?? '')?.[1];
    if (start !== undefined && Number(start) === session.body.length) {
      session.body = Buffer.concat([session.body, Buffer.from(await c.req.arrayBuffer())]);
    }
    if (session.body.length === session.sizeBytes) {
      return insert(session, session.body);
    }
    const kept: Record<string, string> =
      session.body.length === 0 ? {} : { range: `bytes=0-${session.body.length - 1}` };
    return new Response(null, { status: 308, headers: kept });
  }

  function list(c: Context): Response {
    const bucket = c.req.param('bucket') ?? '';
    const prefix = c.req.query('prefix') ?? '';
    const matching = [...objects.values()]
      .filter((stored) => stored.bucket === bucket && stored.name.startsWith(prefix))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const start = Number(c.req.query('pageToken') ?? 0);
    const next = start + PAGE_COUNT;
    return Response.json({
      items: matching.slice(start, next).map(describe),
      ...(next < matching.length ? { nextPageToken: String(next) } : {}),
    });
  }

  function read(c: Context): Response {
    const stored = objects.get(`${c.req.param('bucket')}/${c.req.param('object')}`);
    const wanted = c.req.query('generation');
    if (stored === undefined || (wanted !== undefined && Number(wanted) !== stored.generation)) {
      return errorResponse(404, `No such object: ${c.req.param('bucket')}/${c.req.param('object')}`);
    }
    if (c.req.query('alt') !== 'media') {
      return Response.json(describe(stored));
    }
    const start = Number(/^bytes=(\d+)-$/.exec(c.req.header('range') ?? '')?.[1] ?? 0);
    const headers = { 'x-goog-generation': String(stored.generation) };
    return new Response(new Uint8Array(stored.body.subarray(start)), { status: start > 0 ? 206 : 200, headers });
  }

  const app = new Hono()
    .post('/upload/storage/v1/b/:bucket/o', upload)
    .put('/session/:id', append)
    .get('/storage/v1/b/:bucket/o', list)
    .get('/storage/v1/b/:bucket/o/:object', read);
  return { app, objects, put };
}

function describe(stored: StoredObject) {
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32c(stored.body));
  return {
    bucket: stored.bucket,
    name: stored.name,
    generation: String(stored.generation),
    size: String(stored.body.length),
    crc32c: crc.toString('base64'),
    md5Hash: md5(stored.body),
    metadata: stored.metadata,
  };
}

function md5(body: Buffer): string {
  return createHash('md5').update(body).digest('base64');
}

function errorResponse(code: number, message: string): Response {
  return Response.json({ error: { code, message } }, { status: code });
}

function splitMultipart(body: Buffer, contentType: string): readonly [Buffer, Buffer] {
  const mark = `--${/boundary=(.+)$/.exec(contentType)?.[1]}`;
  const second = body.indexOf(mark, mark.length);
  const end = body.lastIndexOf(`\r\n${mark}--`);
  const content = (from: number, to: number) => body.subarray(body.indexOf('\r\n\r\n', from) + 4, to);
  return [content(0, second - 2), content(second, end)];
}
