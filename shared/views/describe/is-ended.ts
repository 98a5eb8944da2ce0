import type { JobView } from '#shared/protocol/job-view.ts';

const ENDED_STATES: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED']);

/** Whether the program of the job will not run any more; its VM may still be kept. */
export function isEnded({ state }: Pick<JobView, 'state'>): boolean {
  return ENDED_STATES.has(state);
}
