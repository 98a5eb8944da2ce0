import { storageError } from '#infra/embedded/cloud-storage/error.ts';
import { JSON_BODY_BYTES_MAX } from '#infra/embedded/cloud-storage/request.ts';
import { readBoundedText } from '#infra/embedded/http/body.ts';

export type MultipartUpload = {
  /** The first part: the object resource as JSON. */
  readonly metadata: string;
  readonly mediaType: string | undefined;
  /** The second part, as a stream. It fails if the body ends before the closing boundary. */
  readonly media: AsyncIterable<Uint8Array>;
};

/** Limit for the headers of a part, for the preamble and for the epilogue. */
const HEADER_BYTES_MAX = 16_384;

/**
 * Reads the two parts of an upload of type multipart, in bounded memory. Lines end in CR LF, as RFC 2046 requires, or
 * in LF only, as gcloud and gsutil write them; the first boundary line determines which. Source:
 * https://cloud.google.com/storage/docs/uploading-objects#uploading-an-object
 */
export async function readMultipartRelated(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
): Promise<MultipartUpload> {
  const boundary = parseBoundary(contentType);
  const reader = openByteReader(body);
  const eol = await findLineEnd(reader, boundary);
  await readHeaders(reader, eol);
  const delimiter = Buffer.from(`${eol}--${boundary}`);
  const metadata = await readBoundedText(reader.until(delimiter), JSON_BODY_BYTES_MAX);
  await readBoundedText(reader.until(Buffer.from(eol)), HEADER_BYTES_MAX);
  const headers = await readHeaders(reader, eol);
  return { metadata, mediaType: headers['content-type'], media: readMedia(reader, delimiter) };
}

type ByteReader = ReturnType<typeof openByteReader>;

function parseBoundary(contentType: string): string {
  // apitools writes the boundary as a Python literal in single quotes.
  const [, double, single, plain] = /boundary=(?:"([^"]+)"|'([^']+)'|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = double ?? single ?? plain;
  if (boundary === undefined || !/^multipart\/related\b/i.test(contentType)) {
    throw storageError(
      'INVALID',
      `A multipart upload needs the content type multipart/related with a boundary, not ${contentType}.`,
    );
  }
  return boundary;
}

async function findLineEnd(reader: ByteReader, boundary: string): Promise<string> {
  for (let sizeBytes = 0; sizeBytes <= HEADER_BYTES_MAX; ) {
    const line = await readBoundedText(reader.until(Buffer.from('\n')), HEADER_BYTES_MAX);
    sizeBytes += line.length + 1;
    if (line.trimEnd() === `--${boundary}`) {
      return line.endsWith('\r') ? '\r\n' : '\n';
    }
  }
  throw storageError('INVALID', `The multipart body does not start with its boundary. Start it with --${boundary}.`);
}

async function readHeaders(reader: ByteReader, eol: string): Promise<Readonly<Record<string, string>>> {
  const headers: Record<string, string> = {};
  for (let sizeBytes = 0; sizeBytes <= HEADER_BYTES_MAX; ) {
    const line = await readBoundedText(reader.until(Buffer.from(eol)), HEADER_BYTES_MAX);
    if (line === '') {
      return headers;
    }
    sizeBytes += line.length;
    const [, key = '', value = ''] = /^([^:]+):(.*)$/.exec(line) ?? [];
    headers[key.trim().toLowerCase()] = value.trim();
  }
  throw storageError('INVALID', `The headers of a part exceed the limit of ${HEADER_BYTES_MAX} bytes.`);
}

async function* readMedia(reader: ByteReader, delimiter: Buffer): AsyncGenerator<Uint8Array> {
  yield* reader.until(delimiter);
  const rest = await readBoundedText(reader.rest(), HEADER_BYTES_MAX);
  if (!rest.startsWith('--')) {
    throw storageError('INVALID', 'A multipart upload has exactly two parts: the object resource and the media.');
  }
}

/** Reads bytes up to a delimiter; buffers at most one chunk plus the length of the delimiter. */
function openByteReader(body: AsyncIterable<Uint8Array>) {
  const chunks = body[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);

  function take(sizeBytes: number): Buffer {
    const taken = buffered.subarray(0, sizeBytes);
    buffered = buffered.subarray(sizeBytes);
    return taken;
  }

  async function pull(): Promise<boolean> {
    const { done, value } = await chunks.next();
    if (done !== true) {
      buffered = Buffer.concat([buffered, value]);
    }
    return done !== true;
  }

  return {
    /** Consumes the delimiter without yielding it. */
    async *until(delimiter: Buffer): AsyncGenerator<Uint8Array> {
      for (let at = buffered.indexOf(delimiter); ; at = buffered.indexOf(delimiter)) {
        if (at !== -1) {
          yield take(at);
          take(delimiter.length);
          return;
        }
        if (buffered.length >= delimiter.length) {
          yield take(buffered.length - delimiter.length + 1);
        }
        if (!(await pull())) {
          throw storageError('INVALID', 'The multipart body ends before its closing boundary. Send it again.');
        }
      }
    },
    async *rest(): AsyncGenerator<Uint8Array> {
      do {
        yield take(buffered.length);
      } while (await pull());
    },
  };
}
