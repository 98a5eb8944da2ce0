import { fitHyperparameters } from './fit-hyperparameters.ts';
import { conditionOn, type GaussianProcess, type Hyperparameters } from './gaussian-process.ts';
import { compareRepeats, NOISE_VARIANCE_MIN } from './noise.ts';
import { isExpectedBy, withoutOutliers } from './outliers.ts';
import type { Point, SearchSpace } from './search-space.ts';
import { observationsOf, selectTrials, selectWhere, type TrialData } from './trial-data.ts';

/** A step of the fit takes the cube of the number of trials. */
const FIT_TRIALS_MAX = 80;
/** More trials would improve the model little, and its time grows with the square of their number. */
const MODEL_TRIALS_MAX = 300;
/** A rough function that is fitted as one with noise would not be searched beside its best trials. */
const ROUGH_NOISE_VARIANCE_MAX = 1e-3;

/** The hyperparameters, and the trials without those that did not converge. */
export type Fit = { readonly fitted: Hyperparameters; readonly data: TrialData };

/**
 * Fits the model. Apparent noise often has another reason: a few trials that did not converge, whatever their values,
 * or a rough function, as the equal reports of a repetition prove.
 */
export function fitModel(data: TrialData, space: SearchSpace): Fit {
  const observations = observationsOf(selectTrials(data, FIT_TRIALS_MAX), space);
  const fitted = fitHyperparameters(observations);
  if (fitted.noiseVariance <= NOISE_VARIANCE_MIN) {
    return { fitted, data };
  }
  const usual = withoutOutliers({ observations, fitted });
  if (usual.observations !== observations) {
    return { fitted: usual.fitted, data: selectWhere(data, isExpectedBy(usual)) };
  }
  const isRough = compareRepeats(data) === 'EQUAL';
  return { fitted: isRough ? fitHyperparameters(observations, ROUGH_NOISE_VARIANCE_MAX) : fitted, data };
}

/** The model, and the points that it knows. */
export type TrialModel = { readonly model: GaussianProcess; readonly points: readonly Point[] };

export function modelTrials(data: TrialData, hyperparameters: Hyperparameters, space: SearchSpace): TrialModel {
  const observations = observationsOf(selectTrials(data, MODEL_TRIALS_MAX), space);
  return { model: conditionOn(observations, hyperparameters), points: observations.points };
}
