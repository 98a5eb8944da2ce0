import { type Context, Hono } from 'hono';
import * as z from 'zod';
import { rejectionError, storageError, unwrapOutcome } from '#infra/embedded/cloud-storage/error.ts';
import { acceptParameters } from '#infra/embedded/cloud-storage/known-names.ts';
import { readMultipartRelated } from '#infra/embedded/cloud-storage/multipart-related.ts';
import {
  attributesOfBody,
  bodyOf,
  checksumsOf,
  jsonBodyOf,
  type ObjectBody,
  objectBodySchema,
  PARAMETERS,
  parseBody,
  parseInput,
  parseJsonPart,
  parseObjectName,
  preconditionsOf,
} from '#infra/embedded/cloud-storage/request.ts';
import { objectResource, originOf } from '#infra/embedded/cloud-storage/resource.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import {
  DEFAULT_ATTRIBUTES,
  type ObjectAttributes,
  type StoredObject,
} from '#infra/embedded/cloud-storage/store/stored-object.ts';
import type { UploadProgress, UploadRejection } from '#infra/embedded/cloud-storage/store/upload-sessions.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';

const UPLOAD_PATH = '/upload/storage/v1/b/:bucket/o';

/** Source: https://cloud.google.com/storage/docs/performing-resumable-uploads#chunked-upload */
const CHUNK_UNIT_BYTES = 262_144;

const NO_SESSION = 'Upload session not found: it is finished or has expired. Start a new one.';

const uploadQuerySchema = z.object({
  uploadType: z.enum(['media', 'multipart', 'resumable']),
  name: z.string().optional(),
  contentEncoding: z.string().optional(),
});

const UPLOAD_PARAMETERS = [...Object.keys(uploadQuerySchema.shape), 'upload_id'];

/** The three upload types. Source: https://cloud.google.com/storage/docs/uploads-downloads */
export function createUploadRoutes(store: EmbeddedObjectStore): Hono {
  const routes = new Hono();
  // gcloud and gsutil send resumable uploads to a different path.
  for (const path of [UPLOAD_PATH, `/resumable${UPLOAD_PATH}`]) {
    routes.use(path, acceptParameters(PARAMETERS.preconditions, UPLOAD_PARAMETERS));
    routes.post(path, (context) => {
      // gcsfs sends the chunks of a session with POST.
      if (context.req.query('upload_id') !== undefined) {
        return continueSession(context, store);
      }
      const { uploadType } = parseInput(uploadQuerySchema, context.req.query());
      const receive = { media: receiveMedia, multipart: receiveMultipart, resumable: startSession }[uploadType];
      return receive(context, store);
    });
    routes.put(path, (context) => continueSession(context, store));
    routes.delete(path, async (context) => {
      if (!(await store.uploads.cancel(uploadIdOf(context)))) {
        throw storageError('NOT_FOUND', NO_SESSION);
      }
      // Cloud Storage's status for a canceled upload. Hono's response helpers accept registered statuses only.
      return new Response(null, { status: 499 });
    });
  }
  return routes;
}

async function receiveMedia(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const contentType = context.req.header('content-type');
  const { target, attributes } = describeUpload(context, {}, contentType);
  const options = { attributes, preconditions: preconditionsOf(context), expected: checksumsOf(context) };
  return objectResponse(context, unwrapOutcome(await store.put(target, bodyOf(context), options), target));
}

async function receiveMultipart(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const upload = await readMultipartRelated(context.req.header('content-type') ?? '', bodyOf(context));
  const body = parseBody(objectBodySchema, parseJsonPart(upload.metadata, 'the first part'));
  const { target, attributes } = describeUpload(context, body, upload.mediaType);
  const options = { attributes, preconditions: preconditionsOf(context), expected: checksumsOf(context, body) };
  return objectResponse(context, unwrapOutcome(await store.put(target, upload.media, options), target));
}

async function startSession(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const body = await jsonBodyOf(context, objectBodySchema);
  const { target, attributes } = describeUpload(context, body, context.req.header('x-upload-content-type'));
  if (store.findBucket(target.bucket) === undefined) {
    throw rejectionError('NO_BUCKET', target);
  }
  const uploadId = await store.uploads.start({
    target,
    attributes: { ...DEFAULT_ATTRIBUTES, ...attributes },
    preconditions: preconditionsOf(context),
    expected: checksumsOf(context, body),
  });
  const location = new URL(context.req.url);
  location.search = new URLSearchParams({ uploadType: 'resumable', name: target.name, upload_id: uploadId }).toString();
  return context.body(null, 200, { location: location.href, 'x-guploader-uploadid': uploadId });
}

/**
 * Receives a chunk, or reports how much of the upload has been received. Without a Content-Range the body is the whole
 * object.
 * Source: https://cloud.google.com/storage/docs/performing-resumable-uploads
 */
async function continueSession(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const uploadId = uploadIdOf(context);
  const { startByte, sizeBytes, isLast } = parseContentRange(context.req.header('content-range'));
  const progress = await store.uploads.append(uploadId, {
    startByte,
    sizeBytes,
    isLast,
    body: bodyOf(context),
    expected: checksumsOf(context),
  });
  const target = { bucket: context.req.param('bucket') ?? '', name: context.req.query('name') ?? '' };
  const accepted = unwrapProgress(progress, target);
  if (accepted.state === 'DONE') {
    return objectResponse(context, accepted.object);
  }
  // The Go client, and with it gcsfuse and rclone, asks for a status that no HTTP library takes for a redirect.
  const isWithout308 = context.req.header('x-guploader-no-308') === 'yes';
  return context.body(null, isWithout308 ? 200 : 308, {
    ...(isWithout308 && { 'x-http-status-code-override': '308' }),
    ...(accepted.receivedBytes > 0 && { range: `bytes=0-${accepted.receivedBytes - 1}` }),
  });
}

function unwrapProgress(progress: UploadProgress | UploadRejection, target: ObjectName): UploadProgress {
  switch (progress) {
    case 'NO_SESSION':
      throw storageError('NOT_FOUND', NO_SESSION);
    case 'BUSY':
      throw storageError(
        'BUSY',
        'Another request is still writing to this upload. Query its status and resume from there.',
      );
    case 'GAP':
      throw storageError(
        'INVALID',
        'The Content-Range does not continue from the bytes received. Query the status with bytes */*.',
      );
    default:
      return unwrapOutcome(progress, target);
  }
}

// A chunk is `bytes 0-9/20`, `bytes 0-9/*` or `bytes 0-*/20`; `bytes */20` and `bytes */*` query the status.
function parseContentRange(header: string | undefined) {
  if (header === undefined) {
    return { startByte: 0, sizeBytes: null, isLast: true };
  }
  const [, first, last, size] = /^bytes (?:\*|(\d+)-(-?\d+|\*))\/(\d+|\*)$/.exec(header) ?? [];
  if (size === undefined) {
    throw storageError(
      'INVALID',
      `The Content-Range ${header} is not valid. Use bytes FIRST-LAST/SIZE, with * for what is not known.`,
    );
  }
  const sizeBytes = size === '*' ? null : Number(size);
  const endByte = Number(last) + 1;
  // A chunk that is sent again after a cut connection may begin anywhere.
  if (endByte % CHUNK_UNIT_BYTES > 0 && (endByte - Number(first)) % CHUNK_UNIT_BYTES > 0 && endByte !== sizeBytes) {
    throw storageError(
      'INVALID',
      `The chunk ${header} is not the last one, and not a multiple of ${CHUNK_UNIT_BYTES} bytes. Send larger chunks.`,
    );
  }
  // A status query has no bytes. It starts at byte 0, which is never past what was received.
  return { startByte: Number(first ?? 0), sizeBytes, isLast: last === '*' && sizeBytes === null };
}

function describeUpload(
  context: Context,
  body: ObjectBody,
  contentType: string | undefined,
): { readonly target: ObjectName; readonly attributes: Partial<ObjectAttributes> } {
  const { name, contentEncoding } = parseInput(uploadQuerySchema, context.req.query());
  const target = parseObjectName(context.req.param('bucket') ?? '', name ?? body.name ?? '');
  const attributes = {
    ...(contentType !== undefined && { contentType }),
    ...(contentEncoding !== undefined && { contentEncoding }),
    ...attributesOfBody(body),
  };
  return { target, attributes };
}

function uploadIdOf(context: Context): string {
  return parseInput(z.object({ upload_id: z.string() }), context.req.query()).upload_id;
}

function objectResponse(context: Context, object: StoredObject): Response {
  return context.json(objectResource(object, originOf(context)), 200, { 'x-goog-generation': object.generation });
}
