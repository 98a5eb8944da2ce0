import type { JobView } from '#shared/protocol/job-view.ts';

/** A page of `GET /v1/jobs`. */
export type JobsPage = { readonly jobs: readonly JobView[]; readonly nextPageToken?: string };

/** A stretch of the list that one request reads: after `token`, the end of the stretch before. */
export type Chunk = { readonly token: string | null; readonly nextToken: string | null; readonly etag: string | null };

/** The jobs that were read so far, newest first, then by id. */
export type JobList = { readonly jobs: readonly JobView[]; readonly chunks: readonly Chunk[] };

export const EMPTY_LIST: JobList = { jobs: [], chunks: [] };

/**
 * The list with a chunk that was read, for the first time or again. Jobs of the chunk that are missing in the answer no
 * longer satisfy the filter. A new job makes the first chunk end earlier: the jobs after it are kept.
 */
export function mergeChunk(list: JobList, page: JobsPage, read: Omit<Chunk, 'nextToken'>): JobList {
  const nextToken = page.nextPageToken ?? null;
  const [from, to] = [readToken(read.token), readToken(nextToken)];
  const isRead = (job: JobView) => {
    const position = positionOf(job);
    const isAfterStart = from === null || compare(position, from) > 0;
    return isAfterStart && (to === null || compare(position, to) <= 0);
  };
  const others = list.jobs.filter((job) => !isRead(job));
  const known = new Set(page.jobs.map(({ jobId }) => jobId));
  const jobs = [...others.filter(({ jobId }) => !known.has(jobId)), ...page.jobs];
  jobs.sort((one, other) => compare(positionOf(one), positionOf(other)));
  const index = list.chunks.findIndex(({ token }) => token === read.token);
  const earlier = list.chunks[index];
  // The chunks after this one start where they did.
  const chunk = { ...read, nextToken: earlier === undefined ? nextToken : earlier.nextToken };
  const chunks = index < 0 ? [...list.chunks, chunk] : list.chunks.with(index, chunk);
  return { jobs, chunks };
}

/** The list with those of these jobs that were found, and without the others. */
export function mergeJobs(list: JobList, ids: ReadonlySet<string>, found: readonly JobView[]): JobList {
  const end = readToken(unreadToken(list) ?? null);
  const others = list.jobs.filter(({ jobId }) => !ids.has(jobId));
  const read = found.filter((job) => end === null || compare(positionOf(job), end) <= 0);
  const jobs = [...others, ...read].sort((one, other) => compare(positionOf(one), positionOf(other)));
  return { ...list, jobs };
}

/** The token of the part of the list that has not been read; null if all of it has, undefined before the first read. */
export function unreadToken({ chunks }: JobList): string | null | undefined {
  return chunks.at(-1)?.nextToken;
}

/** The chunks that contain the jobs from one index to another. */
export function chunksOf(list: JobList, first: number, last: number): readonly Chunk[] {
  const [from, to] = [list.jobs[first], list.jobs[last]];
  if (from === undefined || to === undefined) {
    return [];
  }
  return list.chunks.filter(({ token, nextToken }) => {
    const [start, end] = [readToken(token), readToken(nextToken)];
    const startsBeforeLast = start === null || compare(start, positionOf(to)) < 0;
    return startsBeforeLast && (end === null || compare(positionOf(from), end) <= 0);
  });
}

type Position = { readonly createdAt: number; readonly jobId: string };

function positionOf({ createTime, jobId }: JobView): Position {
  return { createdAt: Date.parse(createTime), jobId };
}

function readToken(token: string | null): Position | null {
  const [createdAt, jobId] = token?.split('.') ?? [];
  return createdAt === undefined || jobId === undefined ? null : { createdAt: Number(createdAt), jobId };
}

function compare(one: Position, other: Position): number {
  return other.createdAt - one.createdAt || (one.jobId < other.jobId ? -1 : one.jobId > other.jobId ? 1 : 0);
}
