import { type Context, Hono } from 'hono';
import {
  createErrorHandler,
  type StorageErrorType,
  storageError,
  unwrapOutcome,
} from '#infra/embedded/cloud-storage/error.ts';
import { getObject } from '#infra/embedded/cloud-storage/objects.ts';
import { bodyOf, checksumsOf, objectOf } from '#infra/embedded/cloud-storage/request.ts';
import { etagOf } from '#infra/embedded/cloud-storage/resource.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';

const OBJECT_PATH = '/:bucket/:object{.+}';

const MULTIPART_NOT_SUPPORTED =
  'The embedded cloud does not support multipart uploads of the XML API. Upload in one request, resumably, or compose.';

/**
 * Objects at `/BUCKET/OBJECT`, with unescaped slashes allowed in object names: the Go client reads from these URLs, and
 * a plain `curl -T` writes to them. Source: https://cloud.google.com/storage/docs/xml-api/overview
 */
export function createXmlRoutes(store: EmbeddedObjectStore, reportError: (error: Error) => void): Hono {
  const routes = new Hono();
  routes.onError(createErrorHandler(renderXml, reportError));
  // A part of a multipart upload must not be stored as a plain upload: it would replace the object.
  routes.use(OBJECT_PATH, async ({ req }, next) => {
    if (req.query('uploads') !== undefined || req.query('uploadId') !== undefined) {
      throw storageError('NOT_SUPPORTED', MULTIPART_NOT_SUPPORTED);
    }
    await next();
  });
  routes.get(OBJECT_PATH, (context) => getObject(context, store, true));
  routes.put(OBJECT_PATH, async (context) => {
    const target = objectOf(context);
    const contentType = context.req.header('content-type');
    const options = {
      attributes: contentType === undefined ? {} : { contentType },
      preconditions: { ifGenerationMatch: context.req.header('x-goog-if-generation-match') },
      expected: checksumsOf(context),
    };
    const object = unwrapOutcome(await store.put(target, bodyOf(context), options), target);
    return context.body(null, 200, { etag: `"${etagOf(object)}"`, 'x-goog-generation': object.generation });
  });
  return routes;
}

function renderXml(context: Context, { status, xmlCode }: StorageErrorType, message: string): Response {
  const text = message.replace(/[<>&]/g, (character) => `&#${character.charCodeAt(0)};`);
  const body = `<?xml version='1.0' encoding='UTF-8'?><Error><Code>${xmlCode}</Code><Message>${text}</Message></Error>`;
  return context.body(body, status, { 'content-type': 'application/xml; charset=UTF-8' });
}
