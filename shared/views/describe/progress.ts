import { selectMain } from '#shared/domain/replica-name.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

export type Progress = { readonly step: number; readonly stepsMax: number | null; readonly etaMs: number | null };

/**
 * How far the master's program is, and how long the rest takes at its pace so far, over all attempts: work that an
 * interruption repeated counts. Null if it reports no steps.
 */
export function progressOf(job: JobView, now: number): Progress | null {
  const master = masterOf(job);
  if (master === undefined || master.step === null) {
    return null;
  }
  const { step, stepsMax } = master;
  const isRunning = job.state === 'RUNNING' && stepsMax !== null && step > 0 && step < stepsMax;
  return { step, stepsMax, etaMs: isRunning ? ((stepsMax - step) * ranMs(job, now)) / step : null };
}

/** The main replica of the newest attempt. */
export function masterOf({ replicas }: JobView): JobView['replicas'][number] | undefined {
  return selectMain(replicas).at(-1);
}

/** How long the program has run, over all attempts. */
export function ranMs({ timeline }: Pick<JobView, 'timeline'>, now: number): number {
  return timeline
    .flatMap(({ phases }) => phases)
    .filter(({ phase }) => phase === 'RUNNING')
    .reduce((sum, { startTime, endTime }) => {
      return sum + ((endTime === null ? now : Date.parse(endTime)) - Date.parse(startTime));
    }, 0);
}
