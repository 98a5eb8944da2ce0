import type { TuningStore } from '#shared/ports/tuning-store.ts';
import type { FinishedTrial } from '#shared/tuning/optimizer/trial-data.ts';
import type { Trial } from '#shared/tuning/trial.ts';

const PAGE_COUNT_MAX = 500;

/** All trials of a tuning, in the order of their ordinals. */
export async function listAllTrials(tunings: TuningStore, tuningId: string): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  for (;;) {
    const afterOrdinal = trials.at(-1)?.ordinal ?? 0;
    const page = await tunings.listTrials(tuningId, { afterOrdinal, countMax: PAGE_COUNT_MAX });
    trials.push(...page);
    if (page.length < PAGE_COUNT_MAX) {
      return trials;
    }
  }
}

/** Returns what the end of a trial says about its values; undefined if it has not ended or was lost. */
export function finishedOf({ values, outcome }: Trial): FinishedTrial | undefined {
  if (outcome === null || outcome.kind === 'LOST') {
    return undefined;
  }
  if (outcome.kind !== 'SUCCEEDED') {
    return { values, objective: null };
  }
  const { objective, furtherObjectives } = outcome;
  return { values, objective, furtherObjectives };
}
