import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiClient, LOG_ENTRIES_PER_PAGE_MAX } from '#cli/client/api-client.ts';
import { Busy, Interruption } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** Looks in a row that a busy server may refuse: on a deployment, some five minutes of them. */
const BUSY_LOOKS_MAX = 60;

const ENDED: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED']);

export function hasEnded({ state }: Pick<JobView, 'state'>): boolean {
  return ENDED.has(state);
}

/** Lets whoever ends the following with Ctrl-C know that this ends nothing else. */
export async function tellInterruption<T>(
  jobId: string,
  { signal, work }: { readonly signal: AbortSignal; readonly work: Promise<T> },
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!signal.aborted) {
      throw error;
    }
    throw new Interruption(`Interrupted. Job ${jobId} goes on: \`${programName()} jobs cancel ${jobId}\` ends it.`);
  }
}

type Following = {
  /** Ends the following with an AbortError; the job goes on. */
  readonly signal: AbortSignal;
  readonly onJob?: (job: JobView) => void | Promise<void>;
};

/**
 * Looks at the job again and again, at the pace of its API, until it has ended; the last look is the answer. A server
 * that is busy is asked again later, and has its say only when it has been so for long.
 */
export async function followJob(api: ApiClient, jobId: string, { signal, onJob }: Following): Promise<JobView> {
  const { firstMs, lookMs } = api.pace;
  let busyLooks = 0;
  for (let waitMs = firstMs; ; waitMs = Math.min(lookMs, waitMs * 2)) {
    let retryAfterMs = 0;
    try {
      const job = await api.getJob(jobId);
      await onJob?.(job);
      if (hasEnded(job)) {
        return job;
      }
      busyLooks = 0;
    } catch (error) {
      busyLooks += 1;
      if (!(error instanceof Busy) || busyLooks > BUSY_LOOKS_MAX) {
        throw error;
      }
      retryAfterMs = error.retryAfterMs;
    }
    await sleep(Math.max(waitMs, retryAfterMs), undefined, { signal });
  }
}

/** Hands over all that the job logs, oldest first, until it has ended and nothing is left. */
export async function streamLogs(
  api: ApiClient,
  jobId: string,
  { signal, onEntry }: { readonly signal: AbortSignal; readonly onEntry: (entry: LogEntry) => void },
): Promise<JobView> {
  let cursor = '';
  // The job is looked at first and its log read after, so nothing that was logged before its end is left out.
  return followJob(api, jobId, {
    signal,
    onJob: async (job) => {
      for (;;) {
        const page = await api.readLogs(jobId, cursor);
        cursor = page.cursor;
        page.entries.forEach(onEntry);
        // Of a job that goes on, the next look brings the rest.
        const isOver = hasEnded(job) ? page.entries.length === 0 : page.entries.length < LOG_ENTRIES_PER_PAGE_MAX;
        if (isOver) {
          return;
        }
        await sleep(api.pace.pageMs, undefined, { signal });
      }
    },
  });
}
