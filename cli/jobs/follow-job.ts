import { setTimeout as sleep } from 'node:timers/promises';
import { Interruption } from '#cli/failure.ts';
import type { ApiClient } from '#cli/jobs/api-client.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import type { JobView } from '#shared/protocol/report.ts';

const POLL_MS = 300;

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
    throw new Interruption(`Interrupted. Job ${jobId} goes on: \`npx dropforge jobs cancel ${jobId}\` ends it.`);
  }
}

type Following = {
  /** Ends the following with an AbortError; the job goes on. */
  readonly signal: AbortSignal;
  readonly onJob?: (job: JobView) => void | Promise<void>;
};

/** Looks at the job again and again until it has ended; the last look is the answer. */
export async function followJob(api: ApiClient, jobId: string, { signal, onJob }: Following): Promise<JobView> {
  for (;;) {
    const job = await api.getJob(jobId);
    await onJob?.(job);
    if (hasEnded(job)) {
      return job;
    }
    await sleep(POLL_MS, undefined, { signal });
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
    onJob: async () => {
      for (;;) {
        const page = await api.readLogs(jobId, cursor);
        cursor = page.cursor;
        page.entries.forEach(onEntry);
        if (page.entries.length === 0) {
          return;
        }
      }
    },
  });
}
