import { UsageFailure } from '#cli/core/failure.ts';
import { listObjectives, objectiveValues, optimalTrialsOf } from '#shared/protocol/objectives.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import { type SortValue, sortBy } from '#shared/text/sort-by.ts';

type Key = (trial: TrialView) => SortValue;

const COLUMNS: Readonly<Record<string, Key>> = {
  trial: ({ trialId }) => Number(trialId),
  state: ({ state }) => state,
  objective: ({ objective }) => objective,
  step: ({ step }) => step,
  start: ({ startTime }) => startTime,
  end: ({ endTime }) => endTime,
  duration: durationMsOf,
  cost: ({ costUsd }) => costUsd,
};

/** How long the trial ran; null if it has not started, or not ended. */
function durationMsOf({ startTime, endTime }: TrialView): number | null {
  return startTime === null || endTime === null ? null : Date.parse(endTime) - Date.parse(startTime);
}

type Goals = Pick<TuningView, 'metricId' | 'goal' | 'objectives'>;

/**
 * Best first; trials without a result come last, by their ids. With several objectives, the optimal ones come first;
 * they and the others are each in the order of the first objective.
 */
export function sortBestFirst(trials: readonly TrialView[], tuning: Goals): readonly TrialView[] {
  const sign = tuning.goal === 'MAXIMIZE' ? -1 : 1;
  const optimal = new Set(optimalTrialsOf(trials, tuning));
  const sorted = sortBy(trials, ({ state, objective }) =>
    state !== 'SUCCEEDED' || objective === null ? null : sign * objective,
  );
  return [...sorted.filter((trial) => optimal.has(trial)), ...sorted.filter((trial) => !optimal.has(trial))];
}

/**
 * Sorts by a column, `~` before its name for descending order, as in gcloud: `cost`, `~objective`, or the name of a
 * metric or parameter. Trials without a value come last. Throws UsageFailure for an unknown name.
 */
export function sortTrials(
  trials: readonly TrialView[],
  { by, tuning }: { readonly by: string; readonly tuning: TuningView },
): readonly TrialView[] {
  const name = by.replace(/^~/, '');
  const key = findKey(name, tuning, trials);
  if (key === undefined) {
    const metrics = listObjectives(tuning).map(({ metricId }) => metricId);
    const names = [...Object.keys(COLUMNS), ...metrics, ...parameterNames(tuning, trials)];
    throw new UsageFailure(
      `--sort-by: ${name} is not a column. ${didYouMean(name, names)}Columns: ${[...new Set(names)].join(', ')}.`,
    );
  }
  return sortBy(trials, key, by.startsWith('~'));
}

/** The names of all parameters: those of the study, then any others of the trials. */
export function parameterNames({ study }: Pick<TuningView, 'study'>, trials: readonly TrialView[]): readonly string[] {
  const names = (parameters: TuningView['study']['parameters']): readonly string[] =>
    parameters.flatMap(({ id, children }) => [id, ...names(children.map(({ parameter }) => parameter))]);
  return [...new Set([...names(study.parameters), ...trials.flatMap(({ parameters }) => Object.keys(parameters))])];
}

function findKey(name: string, tuning: TuningView, trials: readonly TrialView[]): Key | undefined {
  const parameter = name.replace(/^parameters\./, '');
  if (name === parameter && Object.hasOwn(COLUMNS, name)) {
    return COLUMNS[name];
  }
  const objective = listObjectives(tuning).findIndex(({ metricId }) => metricId === name);
  if (objective >= 0) {
    return (trial) => objectiveValues(trial, tuning)[objective] ?? null;
  }
  const isKnown = parameterNames(tuning, trials).includes(parameter);
  return isKnown ? ({ parameters }) => parameters[parameter] ?? null : undefined;
}
