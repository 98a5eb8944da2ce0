import type { Context } from 'hono';
import * as z from 'zod';
import { storageError } from '#infra/embedded/cloud-storage/error.ts';
import { compileGlob } from '#infra/embedded/cloud-storage/glob.ts';
import { assertKnownFields } from '#infra/embedded/cloud-storage/known-names.ts';
import type { ScanPosition } from '#infra/embedded/cloud-storage/store/object-index.ts';
import {
  type Checksums,
  findObjectNameProblem,
  type ObjectAttributes,
  type Preconditions,
  STORAGE_CLASSES,
} from '#infra/embedded/cloud-storage/store/stored-object.ts';
import { readBoundedText } from '#infra/embedded/http/body.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Limit for JSON request bodies; Cloud Storage allows 8 KiB of custom metadata per object. */
export const JSON_BODY_BYTES_MAX = 1_048_576;

const int64 = z.string().regex(/^\d{1,19}$/, 'must be a whole number');

const preconditionsSchema = z.object({
  ifGenerationMatch: int64.optional(),
  ifGenerationNotMatch: int64.optional(),
  ifMetagenerationMatch: int64.optional(),
  ifMetagenerationNotMatch: int64.optional(),
});

const sourceSchema = z.object({
  sourceGeneration: int64.optional(),
  ifSourceGenerationMatch: int64.optional(),
  ifSourceGenerationNotMatch: int64.optional(),
  ifSourceMetagenerationMatch: int64.optional(),
  ifSourceMetagenerationNotMatch: int64.optional(),
});

/** The names of parameters by what they are for. */
export const PARAMETERS = {
  preconditions: Object.keys(preconditionsSchema.shape),
  source: Object.keys(sourceSchema.shape),
  generation: ['generation', 'softDeleted'],
};

const LIST_COUNT_MAX = 1_000;

const listSchema = z.object({
  prefix: z.string().default(''),
  delimiter: z.string().min(1).optional().catch(undefined),
  startOffset: z.string().optional(),
  endOffset: z.string().optional(),
  versions: z.stringbool().default(false),
  maxResults: z.coerce
    .number()
    .int()
    .min(1)
    .transform((count) => Math.min(count, LIST_COUNT_MAX))
    .default(LIST_COUNT_MAX),
  pageToken: z.string().optional(),
  matchGlob: z.string().min(1).optional().catch(undefined),
  includeTrailingDelimiter: z.stringbool().default(false),
});

/** The buckets have no managed folders, which `includeFoldersAsPrefixes` would add. */
export const LIST_PARAMETERS = [...Object.keys(listSchema.shape), 'softDeleted', 'includeFoldersAsPrefixes'];

const text = z.string().nullish();

/** The fields of an object resource that a client may set. */
export const objectBodySchema = z.object({
  name: z.string().optional(),
  contentType: text,
  contentEncoding: text,
  contentDisposition: text,
  contentLanguage: text,
  cacheControl: text,
  customTime: z.iso.datetime({ offset: true, error: 'must be a time as in RFC 3339' }).nullish(),
  metadata: z.record(z.string(), z.string().nullable()).nullish(),
  storageClass: z.enum(STORAGE_CLASSES, { error: `must be one of ${STORAGE_CLASSES.join(', ')}` }).nullish(),
  md5Hash: z.string().optional(),
  crc32c: z.string().optional(),
});

export type ObjectBody = z.infer<typeof objectBodySchema>;

export const composeBodySchema = z.object({
  sourceObjects: z
    .array(
      z.object({
        name: z.string(),
        generation: z.union([int64, z.int().transform(String)]).optional(),
        objectPreconditions: z
          .object({ ifGenerationMatch: z.union([int64, z.int().transform(String)]).optional() })
          .optional(),
      }),
    )
    .min(1)
    .max(32),
  destination: z.unknown().optional(),
  deleteSourceObjects: z.boolean().default(false),
});

/** All buckets are alike: location, class and access have no effect here. */
export const bucketBodySchema = z.object({
  name: z.string(),
  location: text,
  storageClass: text,
  iamConfiguration: z.unknown().optional(),
});

/** The object in the path. Cloud Storage requires percent-encoding of every reserved character, including the slash. */
export const objectOf = (context: Context): ObjectName =>
  parseObjectName(context.req.param('bucket') ?? '', context.req.param('object') ?? '');

export function parseObjectName(bucket: string, name: string): ObjectName {
  const problem = findObjectNameProblem({ name });
  if (problem !== undefined) {
    throw storageError('INVALID', problem);
  }
  return { bucket, name };
}

export function parseInput<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw storageError('INVALID', `Invalid value at ${issue?.path.join('.') || 'the request'}: ${issue?.message}.`);
  }
  return parsed.data;
}

export const preconditionsOf = (context: Context): Preconditions =>
  parseInput(preconditionsSchema, context.req.query());

export const generationOf = (context: Context): string | undefined =>
  parseInput(z.object({ generation: int64.optional() }), context.req.query()).generation;

export function sourceOf(context: Context): {
  readonly generation: string | undefined;
  readonly preconditions: Preconditions;
} {
  const source = parseInput(sourceSchema, context.req.query());
  return {
    generation: source.sourceGeneration,
    preconditions: {
      ifGenerationMatch: source.ifSourceGenerationMatch,
      ifGenerationNotMatch: source.ifSourceGenerationNotMatch,
      ifMetagenerationMatch: source.ifSourceMetagenerationMatch,
      ifMetagenerationNotMatch: source.ifSourceMetagenerationNotMatch,
    },
  };
}

/** Whether only soft-deleted resources are requested. There are none: the buckets have no soft delete policy. */
export const isSoftDeletedQuery = (context: Context): boolean =>
  parseInput(z.object({ softDeleted: z.stringbool().default(false) }), context.req.query()).softDeleted;

export function listQueryOf(context: Context) {
  const { maxResults, pageToken, versions, matchGlob, includeTrailingDelimiter, ...query } = parseInput(
    listSchema,
    context.req.query(),
  );
  if (matchGlob !== undefined && query.delimiter !== undefined) {
    throw storageError(
      'INVALID',
      'The embedded cloud does not support matchGlob together with a delimiter. Remove one of them.',
    );
  }
  return {
    ...query,
    isIncluded: matchGlob === undefined ? undefined : compileGlob(matchGlob),
    bucket: context.req.param('bucket') ?? '',
    countMax: maxResults,
    isWithNoncurrent: versions,
    isWithPlaceholders: includeTrailingDelimiter,
    after: pageToken === undefined ? undefined : decodePageToken(pageToken),
  };
}

export const encodePageToken = ({ name, generation }: ScanPosition): string =>
  Buffer.from(JSON.stringify([name, generation])).toString('base64url');

function decodePageToken(pageToken: string): ScanPosition {
  const [name, generation] = parseInput(
    z.tuple([z.string(), z.int()]),
    parseJsonPart(Buffer.from(pageToken, 'base64url').toString(), 'the pageToken'),
  );
  return { name, generation };
}

/** The parsed JSON body; an empty object if there is no body, or null, which the Go client sends with a copy. */
export async function jsonBodyOf<T extends z.ZodObject>(context: Context, schema: T): Promise<z.output<T>> {
  const body = await readBoundedText(bodyOf(context), JSON_BODY_BYTES_MAX);
  return parseBody(schema, body === '' ? {} : (parseJsonPart(body, 'the body') ?? {}));
}

export function parseBody<T extends z.ZodObject>(schema: T, body: unknown): z.output<T> {
  assertKnownFields(schema, body);
  return parseInput(schema, body);
}

/** Parses JSON; throws a storage error that names the part of the request if it is invalid. */
export function parseJsonPart(json: string, part: string): unknown {
  const value = parseJson(json);
  if (value === undefined) {
    throw storageError('INVALID', `Parse Error: ${part} is not valid JSON.`);
  }
  return value;
}

/** The attributes that the body sets; a null field is reset to its default. */
export function attributesOfBody(body: ObjectBody): Partial<ObjectAttributes> {
  const { contentType, contentEncoding, contentDisposition, contentLanguage, cacheControl, metadata } = body;
  const { storageClass, customTime } = body;
  return {
    ...(contentType != null && { contentType }),
    ...(storageClass != null && { storageClass }),
    ...(contentEncoding !== undefined && { contentEncoding }),
    ...(contentDisposition !== undefined && { contentDisposition }),
    ...(contentLanguage !== undefined && { contentLanguage }),
    ...(cacheControl !== undefined && { cacheControl }),
    ...(customTime !== undefined && { customTime }),
    ...(metadata !== undefined && { metadata: withoutNulls(metadata ?? {}) }),
  };
}

export function withoutNulls(metadata: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
}

/** The checksums that the client sent, in the object resource or in the headers `x-goog-hash` and `content-md5`. */
export function checksumsOf(context: Context, body: ObjectBody = {}): Partial<Checksums> {
  const header = context.req.header('x-goog-hash') ?? '';
  const hashes = Object.fromEntries(
    [...header.matchAll(/(crc32c|md5)=([A-Za-z0-9+/=]+)/g)].map(([, key, value]) => [key, value]),
  );
  const crc32c = body.crc32c ?? hashes.crc32c;
  const md5 = body.md5Hash ?? hashes.md5 ?? context.req.header('content-md5');
  return { ...(crc32c !== undefined && { crc32c }), ...(md5 !== undefined && { md5 }) };
}

/** The request body as a stream. */
export async function* bodyOf(context: Context): AsyncGenerator<Uint8Array> {
  try {
    yield* context.req.raw.body ?? [];
  } catch {
    // The client is gone and does not read the response; this only keeps it from being reported as an internal error.
    throw storageError('INVALID', 'The connection was cut before the body was complete. Send the request again.');
  }
}
