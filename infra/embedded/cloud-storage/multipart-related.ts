import { refusal } from '#infra/embedded/cloud-storage/error.ts';
import { JSON_BODY_BYTES_MAX } from '#infra/embedded/cloud-storage/request.ts';
import { readBoundedText } from '#infra/embedded/http/body.ts';

export type MultipartUpload = {
  /** The first part: the object resource as JSON. */
  readonly metadata: string;
  readonly mediaType: string | undefined;
  /** The second part, as it arrives. It fails when the body ends before the closing boundary. */
  readonly media: AsyncIterable<Uint8Array>;
};

/** The headers of a part, and what may come before the first and after the last. */
const HEADER_BYTES_MAX = 16_384;

/**
 * Reads the two parts of an upload of type multipart, in bounded memory. Lines may end in CR LF, as RFC 2046 asks, or
 * in LF alone, as gcloud and gsutil write them; the first boundary line tells which. Source:
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
  // apitools writes the boundary as a Python literal, in single quotes.
  const [, double, single, plain] = /boundary=(?:"([^"]+)"|'([^']+)'|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = double ?? single ?? plain;
  if (boundary === undefined || !/^multipart\/related\b/i.test(contentType)) {
    throw refusal(
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
  throw refusal('INVALID', `The boundary ${boundary} does not begin the multipart body. Begin it with --${boundary}.`);
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
  throw refusal('INVALID', `The headers of a part are over the limit of ${HEADER_BYTES_MAX} bytes.`);
}

async function* readMedia(reader: ByteReader, delimiter: Buffer): AsyncGenerator<Uint8Array> {
  yield* reader.until(delimiter);
  const rest = await readBoundedText(reader.rest(), HEADER_BYTES_MAX);
  if (!rest.startsWith('--')) {
    throw refusal('INVALID', 'A multipart upload has two parts: the object resource and the media. Send no third one.');
  }
}

/** Bytes up to a delimiter, holding no more than one chunk and a delimiter's length. */
function openByteReader(body: AsyncIterable<Uint8Array>) {
  const chunks = body[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  function take(sizeBytes: number): Buffer {
    const taken = held.subarray(0, sizeBytes);
    held = held.subarray(sizeBytes);
    return taken;
  }

  async function pull(): Promise<boolean> {
    const { done, value } = await chunks.next();
    if (done !== true) {
      held = Buffer.concat([held, value]);
    }
    return done !== true;
  }

  return {
    /** The delimiter itself is passed over. */
    async *until(delimiter: Buffer): AsyncGenerator<Uint8Array> {
      for (let at = held.indexOf(delimiter); ; at = held.indexOf(delimiter)) {
        if (at !== -1) {
          yield take(at);
          take(delimiter.length);
          return;
        }
        if (held.length >= delimiter.length) {
          yield take(held.length - delimiter.length + 1);
        }
        if (!(await pull())) {
          throw refusal('INVALID', 'The multipart body ends before its closing boundary. Send it again.');
        }
      }
    },
    async *rest(): AsyncGenerator<Uint8Array> {
      do {
        yield take(held.length);
      } while (await pull());
    },
  };
}
