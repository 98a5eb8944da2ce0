import { fitHyperparameters } from './fit-hyperparameters.ts';
import { conditionOn, type GaussianProcess, type Hyperparameters } from './gaussian-process.ts';
import type { SearchSpace } from './search-space.ts';
import { observationsOf, selectEvenly, selectTrials, type TrialData } from './trial-data.ts';

const FIT_TRIALS_MAX = 80;
/** Limit on the trials of either kind: those that failed, and those that did not. */
const MODEL_TRIALS_MAX = 150;
const NOISE_VARIANCE = 0.05;

/** Which parameters the failures depend on. */
export function fitFailures({ points, failed }: TrialData, space: SearchSpace): Hyperparameters {
  const succeeded = selectEvenly(points, FIT_TRIALS_MAX / 2);
  const others = selectEvenly(failed, FIT_TRIALS_MAX / 2);
  const targets = [...succeeded.map(() => 1), ...others.map(() => -1)];
  const mean = targets.reduce((sum, target) => sum + target, 0) / targets.length;
  const deviation = Math.sqrt(Math.max(1e-9, 1 - mean * mean));
  const standardized = Float64Array.from(targets, (target) => (target - mean) / deviation);
  return fitHyperparameters(observationsOf({ points: [...succeeded, ...others], targets: standardized }, space));
}

/**
 * Predicts 1 where trials succeed and -1 where they fail; null if none has failed. Failed trials have no objective, and
 * would be a cliff beside the optimum if they were given a bad one.
 */
export function modelFailures(
  data: TrialData,
  { precisions }: Hyperparameters,
  space: SearchSpace,
): GaussianProcess | null {
  if (data.failed.length === 0) {
    return null;
  }
  const succeeded = selectTrials(data, MODEL_TRIALS_MAX).points;
  const failed = selectEvenly(data.failed, MODEL_TRIALS_MAX);
  const targets = Float64Array.from([...succeeded.map(() => 1), ...failed.map(() => -1)]);
  const hyperparameters = { precisions, signalVariance: 1, noiseVariance: NOISE_VARIANCE };
  return conditionOn(observationsOf({ points: [...succeeded, ...failed], targets }, space), hyperparameters);
}
