import type { Job, TimestampMs } from '#shared/domain/job.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import { trialRefOf, trialSpecOf } from '#shared/tuning/trial-job.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { newJob } from '#shared/use-cases/intake/new-job.ts';

export type TrialId = { readonly tuningId: string; readonly ordinal: number };

/** A tuning with one of its trials; undefined if there is no such tuning. A trial is committed before it is named. */
export async function readTrial(
  tunings: TuningStore,
  { tuningId, ordinal }: TrialId,
): Promise<{ readonly tuning: Tuning; readonly trial: Trial } | undefined> {
  const tuning = (await tunings.read(tuningId))?.record;
  if (tuning === undefined) {
    return undefined;
  }
  const trial = await tunings.readTrial(tuningId, ordinal);
  if (trial === undefined) {
    throw new Error(`Trial ${ordinal} of tuning ${tuningId} does not exist.`);
  }
  return { tuning, trial };
}

/** The job of a trial before its first attempt: what the user submitted, with the trial's values. */
export function trialJobOf(
  tuning: Tuning,
  trial: Trial,
  { now, timeouts }: { readonly now: TimestampMs; readonly timeouts: Timeouts },
): Job {
  const { zones, packages } = tuning;
  const source = { ...tuning.source, text: null };
  const ref = trialRefOf(tuning, trial);
  return newJob(trialSpecOf(tuning, trial), { source, zones, packages, warnings: [], now, timeouts, trial: ref });
}
