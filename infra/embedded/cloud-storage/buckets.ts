import { type Context, Hono } from 'hono';
import { storageError, unwrapOutcome } from '#infra/embedded/cloud-storage/error.ts';
import { acceptParameters } from '#infra/embedded/cloud-storage/known-names.ts';
import { bucketBodySchema, isSoftDeletedQuery, jsonBodyOf } from '#infra/embedded/cloud-storage/request.ts';
import { bucketResource, originOf } from '#infra/embedded/cloud-storage/resource.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { findBucketNameProblem, type StoredBucket } from '#infra/embedded/cloud-storage/store/stored-object.ts';

/** Source: https://cloud.google.com/storage/docs/json_api/v1/buckets */
export function createBucketRoutes(store: EmbeddedObjectStore): Hono {
  const routes = new Hono();
  routes.get('/b', acceptParameters(['project', 'prefix', 'maxResults', 'softDeleted']), (context) => {
    const prefix = context.req.query('prefix') ?? '';
    const buckets = isSoftDeletedQuery(context)
      ? []
      : store.listBuckets().filter(({ name }) => name.startsWith(prefix));
    const items = buckets.map((bucket) => bucketResource(bucket, originOf(context)));
    return context.json({ kind: 'storage#buckets', ...(items.length > 0 && { items }) });
  });
  routes.post('/b', acceptParameters(['project']), (context) => createBucket(context, store));
  const onBucket = acceptParameters();
  routes.get('/b/:bucket', onBucket, (context) =>
    context.json(bucketResource(findBucket(context, store), originOf(context))),
  );
  // Requests need no credentials: every permission is granted.
  routes.get('/b/:bucket/iam/testPermissions', (context) => {
    findBucket(context, store);
    return context.json({
      kind: 'storage#testIamPermissionsResponse',
      permissions: context.req.queries('permissions') ?? [],
    });
  });
  routes.delete('/b/:bucket', onBucket, async (context) => {
    const { name } = findBucket(context, store);
    if ((await store.deleteBucket(name)) === 'NOT_EMPTY') {
      throw storageError('ALREADY_EXISTS', `The bucket ${name} is not empty. Delete its objects first.`);
    }
    return context.body(null, 204);
  });
  // gcloud requests these before it copies or removes recursively.
  routes.get('/b/:bucket/storageLayout', (context) => {
    const { name } = findBucket(context, store);
    const layout = {
      bucket: name,
      location: 'US',
      locationType: 'multi-region',
      hierarchicalNamespace: { enabled: false },
    };
    return context.json({ kind: 'storage#storageLayout', ...layout });
  });
  routes.get('/b/:bucket/managedFolders', (context) => {
    findBucket(context, store);
    return context.json({ kind: 'storage#managedFolders' });
  });
  return routes;
}

async function createBucket(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const { name } = await jsonBodyOf(context, bucketBodySchema);
  const problem = findBucketNameProblem(name);
  if (problem !== undefined) {
    throw storageError('INVALID', problem);
  }
  if (store.createBucket(name) === 'EXISTS') {
    throw storageError('ALREADY_EXISTS', `The bucket ${name} already exists. Use it, or choose another name.`);
  }
  const bucket = store.findBucket(name);
  return context.json(
    bucketResource(unwrapOutcome(bucket ?? 'NO_BUCKET', { bucket: name, name: '' }), originOf(context)),
  );
}

function findBucket(context: Context, store: EmbeddedObjectStore): StoredBucket {
  const name = context.req.param('bucket') ?? '';
  return unwrapOutcome(store.findBucket(name) ?? 'NO_BUCKET', { bucket: name, name: '' });
}
