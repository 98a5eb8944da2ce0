import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Context } from 'hono';
import { storageError } from '#infra/embedded/cloud-storage/error.ts';
import { etagOf } from '#infra/embedded/cloud-storage/resource.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import type { StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { ByteRange } from '#shared/ports/object-store.ts';

/**
 * Returns the object's bytes, or the requested range of them. Objects with gzip encoding are decompressed for clients
 * that do not accept gzip.
 * Source: https://cloud.google.com/storage/docs/transcoding
 */
export async function mediaResponse(
  context: Context,
  store: EmbeddedObjectStore,
  object: StoredObject,
): Promise<Response> {
  const isDecompressed =
    object.contentEncoding === 'gzip' && !/\bgzip\b|\*/.test(context.req.header('accept-encoding') ?? '');
  const range = isDecompressed ? undefined : parseRange(context, object.sizeBytes);
  const { startByte, endByte } = range ?? { startByte: 0, endByte: object.sizeBytes };
  const headers: Record<string, string> = {
    ...mediaHeaders(object),
    ...(isDecompressed ? {} : { 'content-length': String(endByte - startByte) }),
    ...(!isDecompressed && object.contentEncoding !== null && { 'content-encoding': object.contentEncoding }),
    ...(range !== undefined && { 'content-range': `bytes ${startByte}-${endByte - 1}/${object.sizeBytes}` }),
  };
  const status = range === undefined ? 200 : 206;
  if (context.req.method === 'HEAD') {
    return context.body(null, status, headers);
  }
  const bytes = await store.read(object, { generation: object.generation, range: { startByte, endByte } });
  if (bytes === undefined) {
    throw storageError('NOT_FOUND', `No such object: ${object.bucket}/${object.name}#${object.generation}`);
  }
  return context.body(toWebStream(isDecompressed ? decompress(bytes) : bytes), status, headers);
}

/** Source: https://cloud.google.com/storage/docs/xml-api/reference-headers */
function mediaHeaders(object: StoredObject): Record<string, string> {
  const { crc32c, md5, contentDisposition, contentLanguage, cacheControl } = object;
  return {
    'content-type': object.contentType,
    'accept-ranges': 'bytes',
    etag: `"${etagOf(object)}"`,
    'last-modified': new Date(object.updatedAt).toUTCString(),
    'x-goog-generation': object.generation,
    'x-goog-metageneration': String(object.metageneration),
    'x-goog-hash': md5 === null ? `crc32c=${crc32c}` : `crc32c=${crc32c},md5=${md5}`,
    'x-goog-storage-class': object.storageClass,
    'x-goog-stored-content-encoding': object.contentEncoding ?? 'identity',
    'x-goog-stored-content-length': String(object.sizeBytes),
    ...(contentDisposition !== null && { 'content-disposition': contentDisposition }),
    ...(contentLanguage !== null && { 'content-language': contentLanguage }),
    'cache-control': cacheControl ?? 'private, max-age=0',
    ...Object.fromEntries(
      Object.entries(object.metadata).flatMap(([key, value]) =>
        // Header values are limited to Latin-1; metadata that does not fit a header is in the object resource only.
        /^[\w.-]+$/.test(key) && /^[\x20-\x7e]*$/.test(value) ? [[`x-goog-meta-${key}`, value]] : [],
      ),
    ),
  };
}

/** Parses a single byte range; anything else is ignored, as RFC 9110, section 14.2 requires. */
function parseRange(context: Context, sizeBytes: number): ByteRange | undefined {
  const header = context.req.header('range');
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') {
    return undefined;
  }
  const startByte = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const endByte = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  if (first !== '' && last !== '' && Number(last) < startByte) {
    return undefined;
  }
  if (startByte >= sizeBytes || startByte >= endByte) {
    context.header('content-range', `bytes */${sizeBytes}`);
    throw storageError(
      'RANGE',
      `The range ${header} is outside the ${sizeBytes} bytes of the object. Request bytes within it.`,
    );
  }
  return { startByte, endByte };
}

function decompress(bytes: Readable): Readable {
  // An error of either stream destroys the stream that the client reads from; there is nothing more to handle here.
  return pipeline(bytes, createGunzip(), () => {});
}

function toWebStream(bytes: Readable): ReadableStream {
  return Readable.toWeb(bytes) as ReadableStream;
}
