import { type Order, sortBy } from '#dashboard/components/sort-by.ts';
import type { TrialView } from '#shared/protocol/tuning-view.ts';

/**
 * Trials in an order by ordinal, objective, `objective NAME` for one of several, cost, or `parameter NAME`. Those without
 * the value come last in every order.
 */
export function sortTrials(trials: readonly TrialView[], { by, isDescending }: Order): readonly TrialView[] {
  return sortBy(trials, (trial) => valueBy(trial, by), isDescending);
}

function valueBy(trial: TrialView, by: string): string | number | null {
  switch (by) {
    case 'ordinal':
      return Number(trial.trialId);
    case 'objective':
      return trial.objective;
    case 'cost':
      return trial.costUsd;
    default:
      if (by.startsWith('objective ')) {
        return trial.objectives[by.slice('objective '.length)] ?? null;
      }
      return trial.parameters[by.replace(/^parameter /, '')] ?? null;
  }
}
