import { listObjectives } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { formatCount, formatParameters, formatValue } from '#shared/text/format-number.ts';
import { formatUtc } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

const ALGORITHMS: Readonly<Record<string, string>> = {
  BAYESIAN: 'Bayesian optimization',
  GRID: 'grid search',
  RANDOM: 'random search',
};

const RULES = {
  MEDIAN: 'trials below the median of earlier ones are stopped',
  ASHA: 'only the best third of the trials go on at each rung (ASHA)',
} as const;

/** `maximizes accuracy by Bayesian optimization; trials below the median of earlier ones are stopped`. */
export function describeSearch(tuning: TuningView): string {
  const { algorithm, earlyStopping } = tuning;
  const by = ALGORITHMS[algorithm] ?? algorithm;
  const objectives = listObjectives(tuning).map(
    ({ metricId, goal }) => `${goal === 'MAXIMIZE' ? 'maximizes' : 'minimizes'} ${metricId}`,
  );
  const rule = earlyStopping === null ? '' : `; ${RULES[earlyStopping]}`;
  return `${objectives.join(' and ')} by ${by}${rule}`;
}

/** `12 of 40 trials`: the ended ones of those to run. A lost one does not count, because another repeats its values. */
function describeEndedTrials({ endedTrialCount, trialsMax }: TuningView): string {
  return `${endedTrialCount} of ${trialsMax} trials`;
}

/** `12 of 40 trials, 3 running (1 failed, 4 stopped early)`. */
export function describeTrialCounts(tuning: TuningView): string {
  const { counts } = tuning;
  const running = counts.running === 0 ? '' : `, ${counts.running} running`;
  const parts = [
    [counts.stoppedEarly, 'stopped early'],
    [counts.infeasible, 'infeasible'],
    [counts.failed, 'failed'],
    [counts.lost, 'lost'],
  ] as const;
  const details = parts.flatMap(([count, name]) => (count === 0 ? [] : [`${count} ${name}`]));
  return `${describeEndedTrials(tuning)}${running}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
}

/** The best trial with its values in a line of their own; null before the first result. */
export function describeBest({ best, metricId }: TuningView): string | null {
  if (best === null) {
    return null;
  }
  const objective = best.objective === null ? '' : ` ${formatValue(best.objective)}`;
  const step = best.step === null ? '' : ` at step ${formatValue(best.step)}`;
  return withParameters(`trial ${best.trialId}: ${metricId}${objective}${step}`, best);
}

/** The trial whose values are expected to be best, if the best report was also lucky; otherwise null. */
export function describeRecommended({ metricId, recommended }: TuningView): string | null {
  if (recommended === null) {
    return null;
  }
  const { trial, expectedObjective } = recommended;
  const expected = `${metricId} ${formatValue(expectedObjective)} expected, given the noise of all trials`;
  return withParameters(`trial ${trial.trialId}: ${expected}`, trial);
}

function withParameters(text: string, { parameters }: TrialView): string {
  return `${text}\n${formatParameters(parameters)}`;
}

/** Which trials are optimal, and how many more there are than the view has; null with one objective. */
export function describeOptimal({ optimal }: TuningView): string | null {
  if (optimal === null) {
    return null;
  }
  const { count, trials } = optimal;
  if (count === 0 || trials.length === 0) {
    return count === 0 ? 'no trial has a result' : formatCount(count, 'trial');
  }
  const ids = trials.map(({ trialId }) => trialId).join(', ');
  const more = trials.length >= count ? '' : ` and ${count - trials.length} more`;
  return `${count === 1 ? 'trial' : 'trials'} ${ids}${more}`;
}

/** The cost and the time of the end, as far as they are known; null if neither is. */
export function describeForecast({ forecast }: TuningView): string | null {
  const { totalUsd = null, endTime = null } = forecast ?? {};
  const parts = [
    totalUsd === null ? '' : `${formatUsd(totalUsd)} in total`,
    endTime === null ? '' : `ends about ${formatUtc(endTime)}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? null : `${parts.join(', ')}, if the other trials are like those that have ended`;
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  MAX_COST: 'the limit of the cost was reached',
  MAX_RUNTIME: 'the limit of the running time was reached',
  NO_PROGRESS: 'there was no better trial for as long as studyStoppingConfig allows',
  SPACE_EXHAUSTED: 'all combinations of values were tried',
  TRIALS_MAX: 'maxNumTrials of studyStoppingConfig was reached',
  FAILED: 'too many trials failed',
  CANCELLED: 'it was cancelled',
};

/** Why the tuning ended before all of its trials; null if it ran all of them. */
export function describeStop({ stopReason }: TuningView): string | null {
  return stopReason === null ? null : (STOP_REASONS[stopReason] ?? stopReason);
}
