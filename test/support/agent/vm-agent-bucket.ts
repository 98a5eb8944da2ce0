import { createHash } from 'node:crypto';
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

type Composition = {
  readonly sourceObjects: readonly { readonly name: string }[];
  readonly destination: { readonly metadata?: Record<string, string> };
  readonly deleteSourceObjects?: boolean;
};

type Content = { readonly body: Buffer | string; readonly metadata?: Readonly<Record<string, string>> };

const PAGE_COUNT = 2;

/**
 * A fake of the Cloud Storage JSON API, as far as the agent uses it, in memory and as strict: preconditions, checksums,
 * exact ranges, small pages. The contract suite tests the embedded cloud's own server; this one can inject faults.
 */
export function createBucketServer(bucketNames: readonly string[]) {
  const objects = new Map<string, StoredObject>();
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

  async function compose(c: Context): Promise<Response> {
    const { bucket = '', object = '' } = c.req.param();
    const { sourceObjects, destination, deleteSourceObjects } = await c.req.json<Composition>();
    const keys = sourceObjects.map(({ name }) => `${bucket}/${name}`);
    const sources = keys.flatMap((key) => objects.get(key) ?? []);
    if (sources.length < keys.length || keys.length > 32) {
      return errorResponse(keys.length > 32 ? 400 : 404, 'A source is missing, or there are more than 32.');
    }
    const query = new URL(c.req.url).searchParams;
    query.set('name', object);
    const body = Buffer.concat(sources.map((source) => source.body));
    const response = insert({ bucket, query, metadata: destination.metadata ?? {} }, body);
    for (const key of response.ok && deleteSourceObjects ? keys : []) {
      objects.delete(key);
    }
    return response;
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
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(c.req.header('range') ?? '') ?? [];
    const end = last ? Number(last) + 1 : stored.body.length;
    const headers = { 'x-goog-generation': String(stored.generation) };
    return new Response(new Uint8Array(stored.body.subarray(Number(first ?? 0), end)), {
      status: first ? 206 : 200,
      headers,
    });
  }

  const app = new Hono()
    .post('/upload/storage/v1/b/:bucket/o', upload)
    .post('/storage/v1/b/:bucket/o/:object/compose', compose)
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
