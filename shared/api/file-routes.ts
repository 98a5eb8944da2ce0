import { Readable } from 'node:stream';
import type { Hono } from 'hono';
import { errorResponse, readCount, readRequested } from '#shared/api/request.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { AccessDeniedError, type ByteRange, type ObjectInfo, type ObjectStore } from '#shared/ports/object-store.ts';
import { idOf } from '#shared/ports/read-submitted.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { parseGsUri, toGsUri } from '#shared/protocol/gs-uri.ts';
import type { JobFiles } from '#shared/protocol/job-files.ts';
import { listJobFiles } from '#shared/views/list-job-files.ts';

export type FilePorts = {
  readonly jobs: JobStore;
  readonly tunings: TuningStore;
  readonly objects: Pick<ObjectStore, 'stat' | 'read' | 'list'>;
};

const FILES_PER_PAGE_MAX = 200;

/** Cloud Storage's limit on the name of an object. */
const NAME_BYTES_MAX = 1_024;

/** A download must end within the time that the function has for a request; larger files are copied from the bucket. */
const DOWNLOAD_BYTES_MAX = 2 ** 30;

/** A response of known length is limited to 32 MiB on Cloud Run, a stream is not (docs, "Quotas and limits"). */
const SENT_AT_ONCE_BYTES_MAX = 2 ** 24;

/**
 * A file that a program wrote must never become a page of this origin: it is always a download, of no type that a
 * browser displays, and has no rights should a browser display it all the same.
 */
const DOWNLOAD_HEADERS = {
  'content-type': 'application/octet-stream',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-store',
  'accept-ranges': 'bytes',
} as const;

/** The files of a job directory, folder by folder, and the download of one of them. */
export function routeFiles(app: Hono, ports: FilePorts): void {
  app.get('/v1/jobs/:jobId/files', async (context) => {
    const submitted = await readRequested(ports, context.req.param('jobId'));
    const { jobDir } = submitted.spec;
    const prefix = readPrefix(context.req.query('prefix') ?? '');
    const after = readPageToken(context.req.query('pageToken'), prefix);
    const countMax = readCount(context.req.query('pageSize'), FILES_PER_PAGE_MAX, FILES_PER_PAGE_MAX);
    const page = await listJobFiles(ports.objects, { jobDir, prefix, after, countMax });
    const answer: JobFiles = {
      jobId: idOf(submitted),
      jobDir,
      prefix,
      entries: [...page.entries],
      downloadBytesMax: DOWNLOAD_BYTES_MAX,
      ...(page.after === null ? {} : { nextPageToken: Buffer.from(page.after).toString('base64url') }),
    };
    return context.json(answer);
  });

  app.get('/v1/jobs/:jobId/files/content', async (context) => {
    const submitted = await readRequested(ports, context.req.param('jobId'));
    const name = readName(context.req.query('name') ?? '');
    const directory = parseGsUri(submitted.spec.jobDir);
    const object = { ...directory, name: directory.name === '' ? name : `${directory.name}/${name}` };
    const info = await statReadable(ports, object);
    if (info === undefined) {
      throw errorResponse(
        404,
        `Job ${idOf(submitted)} has no file ${name}.`,
        'List its files: GET /v1/jobs/JOB/files.',
      );
    }
    // The rest of another generation would not belong to what the client has (RFC 9110, section 13.1.5).
    const isSame = [undefined, etagOf(info)].includes(context.req.header('if-range'));
    return sendObject(ports, info, isSame ? context.req.header('range') : undefined);
  });
}

async function statReadable({ objects }: FilePorts, object: { readonly bucket: string; readonly name: string }) {
  try {
    return await objects.stat(object);
  } catch (error) {
    if (error instanceof AccessDeniedError) {
      throw errorResponse(404, error.message, `Copy it with your own account: gcloud storage cp ${toGsUri(object)} .`);
    }
    throw error;
  }
}

async function sendObject({ objects }: FilePorts, info: ObjectInfo, rangeHeader: string | undefined) {
  const range = readRange(rangeHeader, info);
  const { startByte, endByte } = range ?? { startByte: 0, endByte: info.sizeBytes };
  if (endByte - startByte > DOWNLOAD_BYTES_MAX) {
    const uri = toGsUri(info);
    const message = `${uri} has ${info.sizeBytes} bytes; the API sends at most ${DOWNLOAD_BYTES_MAX} at once.`;
    throw errorResponse(413, message, `Copy it: gcloud storage cp '${uri}' . (or dropforge cp), or request ranges.`);
  }
  const bytes = await objects.read(info, { generation: info.generation, ...(range === null ? {} : { range }) });
  if (bytes === undefined) {
    throw errorResponse(404, `${toGsUri(info)} was replaced or deleted just now.`, 'Download it again.');
  }
  const length = endByte - startByte;
  const fileName = info.name.slice(info.name.lastIndexOf('/') + 1);
  const headers = {
    ...DOWNLOAD_HEADERS,
    etag: etagOf(info),
    'content-disposition': `attachment; filename*=UTF-8''${encodeFileName(fileName)}`,
    ...(length <= SENT_AT_ONCE_BYTES_MAX && { 'content-length': String(length) }),
    ...(range !== null && { 'content-range': `bytes ${startByte}-${endByte - 1}/${info.sizeBytes}` }),
  };
  return new Response(Readable.toWeb(bytes) as ReadableStream, { status: range === null ? 200 : 206, headers });
}

function etagOf({ generation }: ObjectInfo): string {
  return `"${generation}"`;
}

/** One range of bytes (RFC 9110, section 14.1.2); null for the whole object, also if the header has another form. */
function readRange(header: string | undefined, { sizeBytes }: ObjectInfo): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') {
    return null;
  }
  const startByte = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const endByte = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  if (startByte >= endByte) {
    throw errorResponse(416, `The file has ${sizeBytes} bytes: it has no range ${header}.`, 'Request another range.');
  }
  return { startByte, endByte };
}

/** RFC 8187: everything but letters, digits and a few marks is percent-encoded. */
function encodeFileName(name: string): string {
  const text = name.toWellFormed();
  return encodeURIComponent(text).replaceAll(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

function readPrefix(given: string): string {
  if (given !== '' && (!given.endsWith('/') || !isPath(given.slice(0, -1)))) {
    throw errorResponse(400, `${given} is not a folder of a job directory.`, 'Write a path such as checkpoints/.');
  }
  return given;
}

function readName(given: string): string {
  if (!isPath(given)) {
    throw errorResponse(400, `${given} is not a name of a file.`, 'Pass one of the names that the list of files has.');
  }
  return given;
}

/** Whether it is a path below the job directory, and nothing else. */
function isPath(text: string): boolean {
  const parts = text.split('/');
  return Buffer.byteLength(text) <= NAME_BYTES_MAX && parts.every((part) => !['', '.', '..'].includes(part));
}

function readPageToken(given: string | undefined, prefix: string): string | null {
  if (given === undefined) {
    return null;
  }
  const after = Buffer.from(given, 'base64url').toString();
  if (!after.startsWith(prefix) || Buffer.byteLength(after) > 2 * NAME_BYTES_MAX) {
    throw errorResponse(400, `${given} is not a valid page token.`, 'Pass the nextPageToken of the previous response.');
  }
  return after;
}
