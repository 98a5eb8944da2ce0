import { type Context, Hono } from 'hono';
import { createBucketRoutes } from '#infra/embedded/cloud-storage/buckets.ts';
import { answerErrors, refusal, renderJson } from '#infra/embedded/cloud-storage/error.ts';
import { createObjectRoutes } from '#infra/embedded/cloud-storage/objects.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { createUploadRoutes } from '#infra/embedded/cloud-storage/uploads.ts';
import { createXmlRoutes } from '#infra/embedded/cloud-storage/xml.ts';
import { createBatchRoute } from '#infra/embedded/http/batch.ts';

/** Cloud Storage docs, "Sending batch requests": up to 100 calls in one. */
const BATCH_CALLS_COUNT_MAX = 100;

export type CloudStorageServerOptions = {
  /** Told of every fault of the store itself; the client only hears that there was one. */
  readonly reportFault: (error: Error) => void;
};

/**
 * Cloud Storage on this machine: its JSON API as gcloud and the client libraries use it, and plain objects under
 * `/BUCKET/OBJECT`. That path matches nearly everything, so the door comes last where several share a server. Nobody is
 * asked for credentials. Source: https://cloud.google.com/storage/docs/json_api
 */
export function createCloudStorageServer(store: EmbeddedObjectStore, { reportFault }: CloudStorageServerOptions): Hono {
  const api = new Hono().route('/', createBucketRoutes(store)).route('/', createObjectRoutes(store));
  // Where the path has been dropped these would be taken for objects of the buckets `b` and `projects`.
  for (const path of ['/b/*', '/projects/:project/:what{serviceAccount|hmacKeys.*}']) {
    api.all(path, refuseMethod);
  }
  const door = new Hono();
  door.onError(answerErrors(renderJson, reportFault));
  door.use(async ({ req }, next) => {
    assertDecodable(new URL(req.url).pathname);
    await next();
  });
  door.route('/', createUploadRoutes(store));
  // Node's client drops the path when its endpoint comes from STORAGE_EMULATOR_HOST; bucket names have three letters
  // or more.
  for (const base of ['/storage/v1', '/download/storage/v1', '/']) {
    door.route(base, api);
  }
  door.route(
    '/batch/storage/v1',
    createBatchRoute({
      path: '/storage/v1/',
      callsCountMax: BATCH_CALLS_COUNT_MAX,
      refuse: (message) => refusal('INVALID', message),
      send: (request) => door.fetch(request),
    }),
  );
  door.all('/:api{storage|download|upload|resumable|batch}/*', refuseMethod);
  door.route('/', createXmlRoutes(store, reportFault));
  return door;
}

function refuseMethod({ req }: Context): never {
  throw refusal(
    'NOT_OFFERED',
    `The embedded cloud has no storage method ${req.method} ${req.path}. docs/embedded-cloud.md says what it offers.`,
  );
}

/** A path that is not percent-encoded UTF-8 names no object; Hono would take it literally. */
function assertDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw refusal('INVALID', `The path ${path} is not percent-encoded UTF-8. Encode every byte of the name.`);
  }
}
