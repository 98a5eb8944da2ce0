import { ApiError } from '#dashboard/client/api-error.ts';
import type { Sparkline, Sparklines } from '#shared/protocol/answers.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { SPARKLINES_PER_REQUEST_MAX } from '#shared/protocol/sparklines.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';
import { mainMetricOf } from '#shared/views/describe/job-progress.ts';

/** The lines of the jobs on the screen: those that are known, and requests for the others, one at a time. */
export type SparklineReader = {
  readonly lineOf: (jobId: string) => Sparkline | undefined;
  /** The rows on the screen. Requests what is not known of them, or has changed. */
  readonly show: (jobs: readonly JobView[]) => void;
  /** Requests nothing from now on. */
  readonly end: () => void;
};

type Source = {
  readonly get: (path: string) => Promise<Sparklines>;
  readonly onChange: () => void;
  readonly now: () => number;
  /** Calls back once after a time. */
  readonly after: (ms: number, callback: () => void) => void;
};

/** Agents upload new points about as often. */
const REFRESH_MS = 15_000;
/** After the last change of the rows, so that fast scrolling requests nothing. */
const PAUSE_MS = 150;
/** Servers reject long addresses; names of metrics have up to 128 characters. */
const ADDRESS_CHARS_MAX = 6_000;

type Known = { readonly line: Sparkline | undefined; readonly version: string; readonly readAt: number };

export function createSparklineReader({ get, onChange, now, after }: Source): SparklineReader {
  const known = new Map<string, Known>();
  let shown: readonly JobView[] = [];
  let isWaiting = false;
  let isReading = false;
  let isDone = false;

  const outdated = () =>
    shown.filter((job) => {
      const { line, version, readAt } = known.get(job.jobId) ?? { line: undefined, version: '', readAt: -REFRESH_MS };
      const isOwn = line?.name === mainMetricOf(job)?.name;
      return versionOf(job) !== version && !(line?.isFinal === true && isOwn) && now() - readAt >= REFRESH_MS;
    });

  const read = async () => {
    const jobs = selectBatch(outdated());
    if (isDone || jobs.length === 0) {
      return;
    }
    isReading = true;
    const query = jobs.map(parameterOf).join('&');
    const answer = await get(`/v1/metrics/sparklines?${query}`).catch(toNoLines);
    isReading = false;
    const readAt = now();
    for (const job of jobs) {
      const line = answer.sparklines.find(({ jobId }) => jobId === job.jobId) ?? known.get(job.jobId)?.line;
      const isAnswered = answer.sparklines.some(({ jobId }) => jobId === job.jobId);
      known.set(job.jobId, { line, version: isAnswered ? versionOf(job) : '', readAt });
    }
    if (!isDone) {
      onChange();
      schedule(PAUSE_MS);
    }
  };

  const schedule = (ms: number) => {
    if (!isWaiting && !isReading && outdated().length > 0) {
      isWaiting = true;
      after(ms, () => {
        isWaiting = false;
        void read();
      });
    }
  };

  return {
    lineOf: (jobId) => known.get(jobId)?.line,
    show(jobs) {
      shown = jobs.filter((job) => job.tuning === null && mainMetricOf(job) !== null);
      schedule(PAUSE_MS);
    },
    end() {
      isDone = true;
    },
  };
}

/** Changes if the line of a job may have changed. The last parts of an ended job may be uploaded after its end. */
function versionOf(job: JobView): string {
  const reported = job.replicas.map(({ heardTime }) => heardTime).join();
  return `${mainMetricOf(job)?.name} ${job.attempt} ${isEnded(job)} ${reported}`;
}

function parameterOf(job: JobView): string {
  return `series=${job.jobId}:${encodeURIComponent(mainMetricOf(job)?.name ?? '')}`;
}

function selectBatch(jobs: readonly JobView[]): readonly JobView[] {
  let characters = 0;
  return jobs.slice(0, SPARKLINES_PER_REQUEST_MAX).filter((job) => {
    characters += parameterOf(job).length + 1;
    return characters <= ADDRESS_CHARS_MAX;
  });
}

/** Lines are an addition: the list itself shows that the API is unreachable. Other errors are logged. */
function toNoLines(error: unknown) {
  if (!(error instanceof ApiError && error.isTransient)) {
    reportError(error);
  }
  return { sparklines: [] };
}
