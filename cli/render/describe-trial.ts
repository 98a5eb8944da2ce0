import type { Output } from '#cli/core/command.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import { parameterNames } from '#cli/render/sort-trials.ts';
import { listObjectives, objectiveValues, optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { formatParameters, formatValue } from '#shared/text/format-number.ts';
import { formatSpan } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** Formats trials as a table with a column per parameter. */
export function formatTrials(
  trials: readonly TrialView[],
  tuning: Pick<TuningView, 'study' | 'metricId' | 'goal' | 'objectives'>,
  output: Pick<Output, 'hasColors'>,
): string {
  const names = parameterNames(tuning, trials);
  const optimal = new Set(optimalTrialsOf(trials, tuning));
  const metrics = listObjectives(tuning).map(({ metricId }) => metricId);
  const rows = trials.map((trial) => [
    trial.trialId,
    `${paintState(trial.state, output)}${trial.isTrialStoppedEarly ? ', stopped early' : ''}${optimal.has(trial) ? ', optimal' : ''}`,
    ...objectiveValues(trial, tuning).map((value) => (value === null ? '-' : formatValue(value))),
    trial.step === null ? '-' : formatValue(trial.step),
    ...names.map((name) => formatValue(trial.parameters[name] ?? '-')),
    (trial.endTime !== null && formatSpan(trial, 0)) || '-',
    trial.costUsd === null ? '-' : formatUsd(trial.costUsd),
  ]);
  return formatTable(['TRIAL', 'STATE', ...metrics, 'STEP', ...names, 'DURATION', 'COST'], rows);
}

/** The best trial of those that have ended, in the order of their ends. */
export type BestSoFar = { readonly trialId: string; readonly objective: number };

/** Returns the better of the two; the earlier one if they are equal. With several objectives, there is no best one. */
export function betterOf(
  best: BestSoFar | undefined,
  { trialId, state, objective }: TrialView,
  { goal, objectives }: Pick<TuningView, 'goal' | 'objectives'>,
): BestSoFar | undefined {
  if (state !== 'SUCCEEDED' || objective === null || objectives.length > 0) {
    return best;
  }
  const isBetter =
    best === undefined || (goal === 'MAXIMIZE' ? objective > best.objective : objective < best.objective);
  return isBetter ? { trialId, objective } : best;
}

/** `accuracy 0.9833, latency 12`. */
function formatObjectives(trial: TrialView, tuning: TuningView): string {
  const values = objectiveValues(trial, tuning);
  return listObjectives(tuning)
    .map(({ metricId }, index) => `${metricId} ${formatValue(values[index] ?? Number.NaN)}`)
    .join(', ');
}

/** One line for a trial that has ended: its result, its values, and the best one so far. */
export function formatEndedTrial(
  trial: TrialView,
  {
    tuning,
    best,
    output,
  }: { readonly tuning: TuningView; readonly best: BestSoFar | undefined; readonly output: Output },
): string {
  const { trialId, state, objective, isTrialStoppedEarly, reason, repeats } = trial;
  const result =
    state === 'SUCCEEDED' && objective !== null
      ? `${formatObjectives(trial, tuning)}${isTrialStoppedEarly ? ', stopped early' : ''}`
      : `${paintState(state, output)}${reason === null ? '' : `: ${reason}`}`;
  const repeated = repeats === null ? '' : ` (repeats trial ${repeats})`;
  return [
    `trial ${trialId.padEnd(3)} ${result}${repeated}`,
    paint(formatParameters(trial.parameters), 'dim', output),
    best === undefined ? '' : describeBest(best, trialId),
  ]
    .filter((part) => part !== '')
    .join('  ');
}

function describeBest({ trialId, objective }: BestSoFar, ownId: string): string {
  return trialId === ownId ? '← best so far' : `(best so far: ${formatValue(objective)}, trial ${trialId})`;
}
