import type { TrialView } from '#shared/protocol/report.ts';

/** `by` is ordinal, objective, `objective NAME` for one of several, cost, or `parameter NAME`. */
export type TrialOrder = { readonly by: string; readonly isDescending: boolean };

/** Trials in an order; those without the value come last in every order. */
export function sortTrials(trials: readonly TrialView[], { by, isDescending }: TrialOrder): readonly TrialView[] {
  return trials.toSorted((a, b) => {
    const [left, right] = [valueBy(a, by), valueBy(b, by)];
    if (left === null || right === null) {
      return Number(left === null) - Number(right === null);
    }
    const order =
      typeof left === 'number' && typeof right === 'number'
        ? left - right
        : String(left).localeCompare(String(right), 'en', { numeric: true });
    return isDescending ? -order : order;
  });
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
