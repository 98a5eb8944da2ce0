import { type Fitted, fitHyperparameters } from './fit-hyperparameters.ts';
import { conditionOn, listResiduals, type Observations } from './gaussian-process.ts';
import type { Point } from './search-space.ts';

const TRIALS_MIN = 8;
const SHARE_MAX = 1 / 3;
const ROUNDS_MAX = 3;
/** Compared with the median size of all residuals: a first fit takes outliers for noise, and follows none closely. */
const RESIDUAL_RATIO_MIN = 3;
const RESIDUAL_MIN = 0.3;
/** The unlikelihood of an outlier, which is one report in eight, and anywhere in the worse half. */
const OUTLIER_UNLIKELIHOOD = 3;
/** The constant of a normal distribution, which the unlikelihood of a fit leaves out. */
const OBSERVATION_UNLIKELIHOOD = Math.log(2 * Math.PI) / 2;
const EXPECTED_DEVIATIONS_MAX = 4;

export type FittedObservations = { readonly observations: Observations; readonly fitted: Fitted };

/**
 * The observations without outliers: reports that are far worse than those of similar values, as of a training that did
 * not converge. Each round drops those with the greatest residuals and fits the others again; it counts if all reports
 * are then more likely, outliers included. Returns the same observations if there are none.
 */
export function withoutOutliers(all: FittedObservations): FittedObservations {
  const { length } = all.observations.points;
  const unlikelihoodOf = ({ observations: { points }, fitted }: FittedObservations) =>
    fitted.unlikelihood + OBSERVATION_UNLIKELIHOOD * points.length + OUTLIER_UNLIKELIHOOD * (length - points.length);
  let [best, current] = [all, all];
  for (let round = 0; round < ROUNDS_MAX && length >= TRIALS_MIN; round += 1) {
    const observations = dropGreatestResiduals(current);
    const { length: left } = observations.points;
    if (left === current.observations.points.length || left < length * (1 - SHARE_MAX)) {
      break;
    }
    current = { observations, fitted: fitHyperparameters(observations) };
    best = unlikelihoodOf(current) < unlikelihoodOf(best) ? current : best;
  }
  return best;
}

function dropGreatestResiduals({ observations, fitted }: FittedObservations): Observations {
  const { points, targets } = observations;
  const residuals = listResiduals(observations, fitted);
  const median = residuals.map(Math.abs).sort()[Math.floor(residuals.length / 2)] ?? 0;
  const limit = Math.max(RESIDUAL_MIN, RESIDUAL_RATIO_MIN * median);
  const isUsual = (_: unknown, index: number) => (targets[index] ?? 0) <= 0 || (residuals[index] ?? 0) <= limit;
  return { ...observations, points: points.filter(isUsual), targets: targets.filter(isUsual) };
}

/** Whether a report is not an outlier: also of trials that were not selected for the fit. */
export function isExpectedBy({ observations, fitted }: FittedObservations): (point: Point, target: number) => boolean {
  const model = conditionOn(observations, fitted);
  return (point, target) => {
    const { mean, deviation } = model.predict(point);
    return target <= 0 || target - mean < EXPECTED_DEVIATIONS_MAX * Math.sqrt(deviation ** 2 + fitted.noiseVariance);
  };
}
