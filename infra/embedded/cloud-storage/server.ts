import { type Context, Hono } from 'hono';
import { createBucketRoutes } from '#infra/embedded/cloud-storage/buckets.ts';
import { createErrorHandler, renderJson, storageError } from '#infra/embedded/cloud-storage/error.ts';
import { createObjectRoutes } from '#infra/embedded/cloud-storage/objects.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { createUploadRoutes } from '#infra/embedded/cloud-storage/uploads.ts';
import { createXmlRoutes } from '#infra/embedded/cloud-storage/xml.ts';
import { createBatchRoute } from '#infra/embedded/http/batch.ts';

/** Cloud Storage docs, "Sending batch requests": at most 100 calls per batch. */
const BATCH_CALLS_COUNT_MAX = 100;

export type CloudStorageServerOptions = {
  /** Receives every internal error of the store; the client gets a generic message. */
  readonly reportError: (error: Error) => void;
};

/**
 * The Cloud Storage emulator: the JSON API as gcloud and the client libraries use it, and plain objects at
 * `/BUCKET/OBJECT`. That path matches nearly every URL, so these routes come last on a server shared with others.
 * Requests need no credentials. Source: https://cloud.google.com/storage/docs/json_api
 */
export function createCloudStorageServer(store: EmbeddedObjectStore, { reportError }: CloudStorageServerOptions): Hono {
  const api = new Hono().route('/', createBucketRoutes(store)).route('/', createObjectRoutes(store));
  // With the base path dropped, these would be read as objects of the buckets `b` and `projects`.
  for (const path of ['/b/*', '/projects/:project/:what{serviceAccount|hmacKeys.*}']) {
    api.all(path, rejectMethod);
  }
  const app = new Hono();
  app.onError(createErrorHandler(renderJson, reportError));
  app.use(async ({ req }, next) => {
    assertDecodable(new URL(req.url).pathname);
    await next();
  });
  app.route('/', createUploadRoutes(store));
  // Node's client drops the base path if its endpoint comes from STORAGE_EMULATOR_HOST. There is no ambiguity: bucket
  // names have three or more characters.
  for (const base of ['/storage/v1', '/download/storage/v1', '/']) {
    app.route(base, api);
  }
  app.route(
    '/batch/storage/v1',
    createBatchRoute({
      path: '/storage/v1/',
      callsCountMax: BATCH_CALLS_COUNT_MAX,
      toError: (message) => storageError('INVALID', message),
      send: (request) => app.fetch(request),
    }),
  );
  app.all('/:api{storage|download|upload|resumable|batch}/*', rejectMethod);
  app.route('/', createXmlRoutes(store, reportError));
  return app;
}

function rejectMethod({ req }: Context): never {
  throw storageError(
    'NOT_SUPPORTED',
    `The embedded cloud does not support the storage method ${req.method} ${req.path}. See docs/embedded-cloud.md.`,
  );
}

/** Throws if the path is not percent-encoded UTF-8, which Hono would use literally. */
function assertDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw storageError('INVALID', `The path ${path} is not percent-encoded UTF-8. Encode every byte of the name.`);
  }
}
