import type { Job } from '#shared/domain/job.ts';
import { selectMain } from '#shared/domain/replica-name.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import { AccessDeniedError } from '#shared/ports/object-store.ts';
import type { Sparkline } from '#shared/protocol/answers.ts';
import { SPARKLINE_POINTS_MAX } from '#shared/protocol/sparklines.ts';
import { listParts, type SeriesPart, type SeriesParts } from '#shared/views/metrics/list-parts.ts';
import { type MetricPorts, mapParallel } from '#shared/views/metrics/load-parts.ts';
import type { PartCache } from '#shared/views/metrics/part-cache.ts';
import { RecentlyUsed } from '#shared/views/metrics/recently-used.ts';
import { joinPoints, type Points, pickPoints, thinPoints } from '#shared/views/metrics/thin-points.ts';

export type WantedSparkline = { readonly jobId: string; readonly name: string };

/** A history of more parts is read in so many, at equal distances: a line of 40 points needs no more. */
const PARTS_PER_JOB_MAX = 16;
/** Compressed, of all jobs of one request, without what is in memory already. */
const READ_BYTES_MAX = 32 * 2 ** 20;
/** The parts of all jobs of one request, as for curves: parts that a program wrote can take long to parse. */
const READ_PARTS_MAX = 256;
const CACHED_LINES_MAX = 2_000;

type RevisedLine = { readonly revision: string; readonly line: Sparkline };

/** `lines`: by the revision of their parts, so that a closed job is not even listed again. */
export type SparklineCaches = { readonly parts: PartCache; readonly lines: RecentlyUsed<RevisedLine> };

export function openSparklineCaches(parts: PartCache): SparklineCaches {
  return { parts, lines: new RecentlyUsed(CACHED_LINES_MAX, () => 1) };
}

/** Reads one line for each job, in their order; jobs beyond the limits are left out until the next request. */
export async function readSparklines(
  ports: MetricPorts & { readonly jobs: Pick<JobStore, 'read'> },
  caches: SparklineCaches,
  wanted: readonly WantedSparkline[],
): Promise<readonly Sparkline[]> {
  const budget = { bytesLeft: READ_BYTES_MAX, partsLeft: READ_PARTS_MAX };
  const lines = await mapParallel(wanted, async ({ jobId, name }) => {
    const job = (await ports.jobs.read(jobId))?.record;
    return job === undefined ? undefined : readLine(ports, caches, { job, name, budget });
  });
  return lines.filter((line) => line !== undefined);
}

type LineRequest = { readonly job: Job; readonly name: string; readonly budget: Budget };
type Budget = { bytesLeft: number; partsLeft: number };

async function readLine(ports: MetricPorts, caches: SparklineCaches, { job, name, budget }: LineRequest) {
  const { jobId, createdAt } = job;
  // Closed: its VMs are deleted, so that no agent uploads any more.
  const isFinal = job.status === 'CLOSED';
  const key = `${jobId} ${createdAt} ${isFinal} ${name}`;
  const cached = caches.lines.get(key);
  if (cached !== undefined && isFinal) {
    return cached.line;
  }
  const listed = await listReadable(ports, job);
  if (listed === undefined) {
    return { jobId, name, positions: [], values: [], isFinal: false };
  }
  if (cached !== undefined && cached.revision === listed.revision) {
    return cached.line;
  }
  const parts = selectParts(listed.parts);
  const unread = parts.filter((part) => !caches.parts.hasSummary(part));
  const unreadBytes = unread.reduce((sum, { info }) => sum + info.sizeBytes, 0);
  if (unreadBytes > budget.bytesLeft || unread.length > budget.partsLeft) {
    return undefined;
  }
  budget.partsLeft -= unread.length;
  budget.bytesLeft -= unreadBytes;
  const line = { jobId, name, ...(await readPoints(ports, caches.parts, { parts, name })), isFinal };
  caches.lines.set(key, { revision: listed.revision, line });
  return line;
}

/** Undefined without permission: the screen of the job says so; in a list, it is a job without a line. */
async function listReadable({ objects }: MetricPorts, job: Job): Promise<SeriesParts | undefined> {
  try {
    return await listParts(objects, job);
  } catch (error) {
    if (error instanceof AccessDeniedError) {
      return undefined;
    }
    throw error;
  }
}

function selectParts(all: readonly SeriesPart[]): readonly SeriesPart[] {
  const own = selectMain(all.filter(({ kind }) => kind === 'PROGRAM'));
  if (own.length <= PARTS_PER_JOB_MAX) {
    return own;
  }
  const distance = (own.length - 1) / (PARTS_PER_JOB_MAX - 1);
  return Array.from({ length: PARTS_PER_JOB_MAX }, (_, at) => own[Math.round(at * distance)]).filter(
    (part) => part !== undefined,
  );
}

async function readPoints(
  { objects }: MetricPorts,
  cache: PartCache,
  { parts, name }: { readonly parts: readonly SeriesPart[]; readonly name: string },
): Promise<Pick<Sparkline, 'positions' | 'values'>> {
  const pieces: Points[] = [];
  for (const part of parts) {
    const { columns } = await cache.read(objects, part);
    const points = joinPoints(columns.get(name) ?? []);
    pieces.push(thinPoints(points, SPARKLINE_POINTS_MAX));
  }
  const points = withoutRepeats(joinPoints(pieces.filter((piece) => piece.values.length > 0)));
  const finite = Array.from(points.values, (value, at) => (Number.isFinite(value) ? at : -1)).filter((at) => at >= 0);
  const kept = thinPoints(pickPoints(points, finite), SPARKLINE_POINTS_MAX);
  return { positions: [...(kept.steps ?? kept.times)], values: [...kept.values] };
}

/** Without the points whose steps were repeated: an attempt resumes from an earlier checkpoint. */
function withoutRepeats(points: Points): Points {
  const positions = points.steps ?? points.times;
  let next = Number.POSITIVE_INFINITY;
  const kept: number[] = [];
  for (let at = positions.length - 1; at >= 0; at -= 1) {
    const position = positions[at] ?? 0;
    if (position < next) {
      kept.push(at);
      next = position;
    }
  }
  return pickPoints(points, kept.reverse());
}
