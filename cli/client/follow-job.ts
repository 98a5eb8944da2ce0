import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, LOG_ENTRIES_PER_PAGE_MAX } from '#cli/client/api-client.ts';
import { createEndedTrials } from '#cli/client/trials.ts';
import { Interruption, RetryableFailure, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';

/** Consecutive retryable failures to tolerate: about five minutes on a deployment. */
const RETRIES_MAX = 60;

/** Awaits `work`; if the user interrupts it, throws an Interruption which says that the job is still running. */
export async function reportInterruption<T>(
  jobId: string,
  { signal, work }: { readonly signal: AbortSignal; readonly work: Promise<T> },
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!signal.aborted) {
      throw error;
    }
    throw new Interruption(
      `Interrupted. Job ${jobId} is still running: to follow it, run \`${programName()} logs ${jobId}\`; ` +
        `to cancel it, \`${programName()} jobs cancel ${jobId}\`.`,
    );
  }
}

type FollowOptions = {
  /** Stops polling with an AbortError; does not affect the job. */
  readonly signal: AbortSignal;
  readonly onJob?: (job: JobView) => void | Promise<void>;
};

/**
 * Polls the job at the API's intervals until it reaches a terminal state, and returns that state. Retries retryable
 * failures; throws the last one after too many in a row.
 */
export async function followJob(api: ApiClient, jobId: string, options: FollowOptions): Promise<JobView> {
  const { signal, onJob } = options;
  const readJob = createChangedJobReader(api, jobId);
  const { initialMs, maxMs } = api.pollIntervals;
  let retries = 0;
  for (let waitMs = initialMs; ; waitMs = Math.min(maxMs, waitMs * 2)) {
    let retryAfterMs = 0;
    try {
      const job = await readJob();
      await onJob?.(job);
      if (isEnded(job)) {
        return job;
      }
      retries = 0;
    } catch (error) {
      retries += 1;
      if (!(error instanceof RetryableFailure) || retries > RETRIES_MAX) {
        throw error;
      }
      retryAfterMs = error.retryAfterMs;
    }
    await sleep(Math.max(waitMs, retryAfterMs), undefined, { signal });
  }
}

/** Reads the job, and again after it has changed: of a quiet job, a poll costs no more than asking for its changes. */
function createChangedJobReader(api: ApiClient, jobId: string): () => Promise<JobView> {
  const known = new Map<string, string>();
  let marker: string | undefined;
  let job: JobView | undefined;
  return async () => {
    const answer = await api.listChanges(jobId, marker);
    const changed = answer.changes.filter(({ kind, version }) => known.get(kind) !== version);
    if (job === undefined || answer.isEverything || changed.length > 0) {
      job = await api.getJob(jobId);
    }
    marker = answer.marker;
    for (const { kind, version } of changed) {
      known.set(kind, version);
    }
    return job;
  };
}

/** Which entries of a log are read. */
export type LogSelection = {
  /** Only those of this replica; undefined for all. */
  readonly replica?: string | undefined;
  /** How many of the entries that were written before are passed on: the last ones. */
  readonly tail?: number | undefined;
  readonly isSelected?: (entry: LogEntry) => boolean;
};

type StreamOptions = Omit<FollowOptions, 'onJob'> &
  LogSelection & {
    readonly onEntry: (entry: LogEntry) => void;
    /** Called at each poll of a tuning, with the trials that have ended since the last one. */
    readonly onTuning?: (job: JobView, ended: readonly TrialView[]) => void;
  };

/**
 * Passes the selected log entries to `onEntry`, oldest first, until the job has ended and its log has been read to the
 * end. The log is read from its beginning, whatever is selected: its pages have no other start. A tuning has no log of
 * its own, but trials, which are passed to `onTuning`.
 */
export async function streamLogs(
  api: ApiClient,
  jobId: string,
  { signal, replica, tail, isSelected, onEntry, onTuning }: StreamOptions,
): Promise<JobView> {
  let cursor = '';
  let held: LogEntry[] | undefined = tail === undefined ? undefined : [];
  const ended = createEndedTrials(api);
  // Each poll reads the job before its log, so that no entry written before the job's end is missed.
  return followJob(api, jobId, {
    signal,
    onJob: async (job) => {
      if (job.tuning !== null) {
        if (tail !== undefined || isSelected !== undefined) {
          throw new UsageFailure(
            `${jobId} is a tuning job, which has no log of its own: add --trial N, or remove --tail, --since and --no-agent.`,
          );
        }
        onTuning?.(job, await ended.read(job));
        return;
      }
      for (;;) {
        const page = await api.readLogs(jobId, cursor, replica);
        cursor = page.cursor;
        const selected = page.entries.filter(isSelected ?? (() => true));
        held = held && [...held, ...selected].slice(-(tail ?? 0));
        (held === undefined ? selected : []).forEach(onEntry);
        // While the job is running, a short page is the last one for this poll.
        const isLastPage = isEnded(job) ? page.entries.length === 0 : page.entries.length < LOG_ENTRIES_PER_PAGE_MAX;
        if (isLastPage) {
          held?.forEach(onEntry);
          held = undefined;
          return;
        }
        await sleep(api.pollIntervals.logPageMs, undefined, { signal });
      }
    },
  });
}
