import { type Context, Hono } from 'hono';
import { rejectionError, storageError, unwrapOutcome } from '#infra/embedded/cloud-storage/error.ts';
import { acceptParameters } from '#infra/embedded/cloud-storage/known-names.ts';
import { mediaResponse } from '#infra/embedded/cloud-storage/media.ts';
import {
  attributesOfBody,
  composeBodySchema,
  encodePageToken,
  generationOf,
  isSoftDeletedQuery,
  jsonBodyOf,
  LIST_PARAMETERS,
  listQueryOf,
  objectBodySchema,
  objectOf,
  PARAMETERS,
  parseBody,
  parseObjectName,
  preconditionsOf,
  sourceOf,
  withoutNulls,
} from '#infra/embedded/cloud-storage/request.ts';
import { objectResource, originOf } from '#infra/embedded/cloud-storage/resource.ts';
import type { EmbeddedObjectStore } from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { findFailedPrecondition, type StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';

const OBJECT_PATH = '/b/:bucket/o/:object';
const TARGET_PATH = '/b/:targetBucket/o/:targetObject';
/** A rewrite is done in one call. */
const COPY_PARAMETERS = ['maxBytesRewrittenPerCall', 'rewriteToken'];

/** Source: https://cloud.google.com/storage/docs/json_api/v1/objects */
export function createObjectRoutes(store: EmbeddedObjectStore): Hono {
  const routes = new Hono();
  const onTarget = acceptParameters(PARAMETERS.preconditions);
  const onGeneration = acceptParameters(PARAMETERS.preconditions, PARAMETERS.generation);
  const onCopy = acceptParameters(PARAMETERS.preconditions, PARAMETERS.source, COPY_PARAMETERS);
  routes.get('/b/:bucket/o', acceptParameters(LIST_PARAMETERS), (context) => listObjects(context, store));
  routes.get(OBJECT_PATH, onGeneration, (context) => getObject(context, store));
  routes.patch(OBJECT_PATH, onGeneration, (context) => patchObject(context, store));
  routes.delete(OBJECT_PATH, onGeneration, async (context) => {
    const target = objectOf(context);
    const removal = { generation: generationOf(context), preconditions: preconditionsOf(context) };
    const outcome = await store.remove(target, removal);
    if (outcome !== 'CHANGED') {
      throw rejectionError(outcome, target);
    }
    return context.body(null, 204);
  });
  routes.post(`${OBJECT_PATH}/copyTo${TARGET_PATH}`, onCopy, async (context) =>
    context.json(objectResource(await copyObject(context, store), originOf(context))),
  );
  routes.post(`${OBJECT_PATH}/rewriteTo${TARGET_PATH}`, onCopy, async (context) => {
    const object = await copyObject(context, store);
    const size = String(object.sizeBytes);
    return context.json({
      kind: 'storage#rewriteResponse',
      totalBytesRewritten: size,
      objectSize: size,
      done: true,
      resource: objectResource(object, originOf(context)),
    });
  });
  routes.post(`${OBJECT_PATH}/moveTo/o/:targetObject`, onCopy, async (context) =>
    context.json(objectResource(await moveObject(context, store), originOf(context))),
  );
  routes.post(`${OBJECT_PATH}/compose`, onTarget, (context) => composeObject(context, store));
  return routes;
}

function listObjects(context: Context, store: EmbeddedObjectStore): Response {
  const query = listQueryOf(context);
  if (store.findBucket(query.bucket) === undefined) {
    throw rejectionError('NO_BUCKET', { bucket: query.bucket, name: '' });
  }
  if (isSoftDeletedQuery(context)) {
    return context.json({ kind: 'storage#objects' });
  }
  const { objects, prefixes, nextPosition } = store.page(query);
  return context.json({
    kind: 'storage#objects',
    ...(nextPosition !== null && { nextPageToken: encodePageToken(nextPosition) }),
    ...(prefixes.length > 0 && { prefixes }),
    ...(objects.length > 0 && { items: objects.map((object) => objectResource(object, originOf(context))) }),
  });
}

function findObject(context: Context, store: EmbeddedObjectStore): StoredObject {
  const target = objectOf(context);
  const isBucket = store.findBucket(target.bucket) !== undefined;
  const object = isSoftDeletedQuery(context) ? undefined : store.find(target, generationOf(context));
  return unwrapOutcome(object ?? (isBucket ? 'NO_OBJECT' : 'NO_BUCKET'), target);
}

/** Returns the object's resource, or its bytes with `alt=media`. */
export async function getObject(
  context: Context,
  store: EmbeddedObjectStore,
  isMedia = isMediaQuery(context),
): Promise<Response> {
  const object = findObject(context, store);
  const failed = findFailedPrecondition(object, preconditionsOf(context));
  if (failed === 'ifGenerationNotMatch' || failed === 'ifMetagenerationNotMatch') {
    return context.body(null, 304);
  }
  if (failed !== undefined) {
    throw rejectionError('CONFLICT', object);
  }
  return isMedia
    ? await mediaResponse(context, store, object)
    : context.json(objectResource(object, originOf(context)));
}

const isMediaQuery = (context: Context): boolean => context.req.query('alt') === 'media';

/** JSON merge patch (RFC 7396): a null field is removed, and so is a metadata key with a null value. */
async function patchObject(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const target = objectOf(context);
  // The storage class of an object changes only by a rewrite.
  const { storageClass, ...body } = await jsonBodyOf(context, objectBodySchema);
  const outcome = store.patch(target, {
    generation: generationOf(context),
    preconditions: preconditionsOf(context),
    attributes: (current) => ({
      ...attributesOfBody(body),
      ...(body.metadata != null && { metadata: withoutNulls({ ...current.metadata, ...body.metadata }) }),
    }),
  });
  return context.json(objectResource(unwrapOutcome(outcome, target), originOf(context)));
}

async function copyObject(context: Context, store: EmbeddedObjectStore): Promise<StoredObject> {
  const source = { ...objectOf(context), ...sourceOf(context) };
  const target = parseObjectName(context.req.param('targetBucket') ?? '', context.req.param('targetObject') ?? '');
  const attributes = attributesOfBody(await jsonBodyOf(context, objectBodySchema));
  const outcome = await store.copy(source, target, { attributes, preconditions: preconditionsOf(context) });
  return unwrapOutcome(outcome, outcome === 'NO_OBJECT' ? source : target);
}

async function moveObject(context: Context, store: EmbeddedObjectStore): Promise<StoredObject> {
  const source = { ...objectOf(context), preconditions: sourceOf(context).preconditions };
  const target = parseObjectName(source.bucket, context.req.param('targetObject') ?? '');
  if (target.name === source.name) {
    throw storageError(
      'INVALID',
      `The object ${source.bucket}/${source.name} cannot be moved to itself. Choose another name.`,
    );
  }
  const outcome = await store.move(source, target, { preconditions: preconditionsOf(context) });
  return unwrapOutcome(outcome, outcome === 'NO_OBJECT' ? source : target);
}

async function composeObject(context: Context, store: EmbeddedObjectStore): Promise<Response> {
  const target = objectOf(context);
  const { sourceObjects, destination = {}, deleteSourceObjects } = await jsonBodyOf(context, composeBodySchema);
  const sources = sourceObjects.map(({ name, generation, objectPreconditions }) => ({
    ...parseObjectName(target.bucket, name),
    generation,
    preconditions: { ifGenerationMatch: objectPreconditions?.ifGenerationMatch },
  }));
  const missing = sources.find((source) => store.find(source, source.generation) === undefined);
  if (missing !== undefined) {
    throw rejectionError('NO_OBJECT', missing);
  }
  const attributes = attributesOfBody(parseBody(objectBodySchema, destination));
  const options = { attributes, preconditions: preconditionsOf(context) };
  const outcome = await store.compose(sources, target, { ...options, deletesSources: deleteSourceObjects });
  return context.json(objectResource(unwrapOutcome(outcome, target), originOf(context)));
}
