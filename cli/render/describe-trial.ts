import type { Output } from '#cli/core/command.ts';
import { formatDuration } from '#cli/render/format.ts';
import { formatTable } from '#cli/render/format-table.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import { durationMsOf, parameterNames } from '#cli/render/sort-trials.ts';
import type { TrialView, TuningView } from '#shared/protocol/report.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** At most 4 significant digits, without trailing zeros. */
export function formatNumber(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** `learning_rate=0.031 optimizer=adam`. */
export function formatParameters({ parameters }: Pick<TrialView, 'parameters'>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${typeof value === 'number' ? formatNumber(value) : value}`)
    .join(' ');
}

/** Formats trials as a table with a column per parameter. */
export function formatTrials(
  trials: readonly TrialView[],
  tuning: Pick<TuningView, 'study' | 'metricId'>,
  output: Pick<Output, 'hasColors'>,
): string {
  const names = parameterNames(tuning, trials);
  const rows = trials.map((trial) => [
    trial.trialId,
    `${paintState(trial.state, output)}${trial.isTrialStoppedEarly ? ', stopped early' : ''}`,
    trial.objective === null ? '-' : formatNumber(trial.objective),
    trial.step === null ? '-' : formatNumber(trial.step),
    ...names.map((name) => formatValue(trial.parameters[name])),
    formatDurationOf(trial),
    trial.costUsd === null ? '-' : formatUsd(trial.costUsd),
  ]);
  return formatTable(['TRIAL', 'STATE', tuning.metricId, 'STEP', ...names, 'DURATION', 'COST'], rows);
}

function formatValue(value: string | number | undefined): string {
  return value === undefined ? '-' : typeof value === 'number' ? formatNumber(value) : value;
}

function formatDurationOf(trial: TrialView): string {
  const durationMs = durationMsOf(trial);
  return durationMs === null ? '-' : formatDuration(durationMs);
}

/** The best trial of those that have ended, in the order of their ends. */
export type BestSoFar = { readonly trialId: string; readonly objective: number };

/** Returns the better of the two; the earlier one if they are equal. */
export function betterOf(
  best: BestSoFar | undefined,
  { trialId, state, objective }: TrialView,
  { goal }: Pick<TuningView, 'goal'>,
): BestSoFar | undefined {
  if (state !== 'SUCCEEDED' || objective === null) {
    return best;
  }
  const isBetter =
    best === undefined || (goal === 'MAXIMIZE' ? objective > best.objective : objective < best.objective);
  return isBetter ? { trialId, objective } : best;
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
      ? `${tuning.metricId} ${formatNumber(objective)}${isTrialStoppedEarly ? ', stopped early' : ''}`
      : `${paintState(state, output)}${reason === null ? '' : `: ${reason}`}`;
  const repeated = repeats === null ? '' : ` (repeats trial ${repeats})`;
  return [
    `trial ${trialId.padEnd(3)} ${result}${repeated}`,
    paint(formatParameters(trial), 'dim', output),
    best === undefined ? '' : describeBest(best, trialId),
  ]
    .filter((part) => part !== '')
    .join('  ');
}

function describeBest({ trialId, objective }: BestSoFar, ownId: string): string {
  return trialId === ownId ? '← best so far' : `(best so far: ${formatNumber(objective)}, trial ${trialId})`;
}
