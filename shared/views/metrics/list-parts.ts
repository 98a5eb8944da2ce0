import { createHash } from 'node:crypto';
import type { Job } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { AccessDeniedError, type ObjectInfo, type ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import { parsePartName, SERIES_PREFIX, type SeriesPartName } from '#shared/protocol/series-part.ts';

/** One part of a job's metric history in the bucket. */
export type SeriesPart = SeriesPartName & { readonly info: ObjectInfo };

export type SeriesParts = {
  /** By kind, replica, attempt, boot and number: the order of the points of each series. */
  readonly parts: readonly SeriesPart[];
  /** Changes whenever a part does. */
  readonly revision: string;
  /** Objects under the prefix that no agent of this job has written, or that exceed a limit. */
  readonly ignoredCount: number;
};

/** The job whose metrics are read. */
export type SeriesOwner = Pick<Job, 'jobId' | 'attempt' | 'createdAt'> & { readonly spec: Pick<JobSpec, 'jobDir'> };

/** Agents write at most 256 parts of each kind for each replica and attempt. */
const PARTS_COUNT_MAX = 5_000;
/** An agent closes a part when it has 1 MiB before compression. */
const PART_BYTES_MAX = 4 * 2 ** 20;
const LIST_COUNT = 1_000;
/** The clocks of Cloud Storage and of the functions. */
const CLOCK_ERROR_MS = 60_000;

/** Lists the parts of a job. Throws AccessDeniedError if the bucket may not be listed. */
export async function listParts(objects: ObjectStore, owner: SeriesOwner): Promise<SeriesParts> {
  const { bucket, name } = parseGsUri(owner.spec.jobDir);
  const prefix = `${name === '' ? '' : `${name.replace(/\/$/, '')}/`}${SERIES_PREFIX}${owner.jobId}/`;
  const parts: SeriesPart[] = [];
  let ignoredCount = 0;
  for await (const info of eachObject(objects, { bucket, prefix })) {
    const parsed = parsePartName(info.name.slice(prefix.length));
    // An object from before the job is one of an earlier job with the same id and job directory.
    const isOwn = parsed !== undefined && parsed.attempt <= owner.attempt;
    if (isOwn && info.sizeBytes <= PART_BYTES_MAX && info.updatedAt >= owner.createdAt - CLOCK_ERROR_MS) {
      parts.push({ ...parsed, info });
    } else {
      ignoredCount += 1;
    }
  }
  const hash = createHash('sha256');
  for (const { info } of parts) {
    hash.update(`${info.name}#${info.generation}\n`);
  }
  return { parts: parts.sort(compareParts), revision: hash.digest('base64url').slice(0, 22), ignoredCount };
}

async function* eachObject(
  objects: ObjectStore,
  { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
) {
  let after: string | undefined;
  for (let count = 0; count < PARTS_COUNT_MAX; count += LIST_COUNT) {
    const query = { bucket, prefix, countMax: LIST_COUNT, ...(after === undefined ? {} : { after }) };
    const page = await listOrNone(objects, query);
    yield* page;
    if (page.length < LIST_COUNT) {
      return;
    }
    after = page.at(-1)?.name;
  }
}

/** A bucket that was deleted has no metrics. */
async function listOrNone(objects: ObjectStore, query: Parameters<ObjectStore['list']>[0]) {
  try {
    return await objects.list(query);
  } catch (error) {
    if (!(error instanceof AccessDeniedError) && !(await objects.hasBucket(query.bucket))) {
      return [];
    }
    throw error;
  }
}

function compareParts(a: SeriesPart, b: SeriesPart): number {
  return (
    a.kind.localeCompare(b.kind) ||
    a.replica.localeCompare(b.replica, 'en', { numeric: true }) ||
    a.attempt - b.attempt ||
    a.boot - b.boot ||
    a.number - b.number
  );
}
