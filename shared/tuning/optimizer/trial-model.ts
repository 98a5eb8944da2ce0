import { fitHyperparameters } from './fit-hyperparameters.ts';
import { conditionOn, type GaussianProcess, type Hyperparameters } from './gaussian-process.ts';
import type { Point, SearchSpace } from './search-space.ts';
import { observationsOf, selectTrials, type TrialData } from './trial-data.ts';

/** A step of the fit takes the cube of the number of trials. */
const FIT_TRIALS_MAX = 80;
/** More trials would improve the model little, and its time grows with the square of their number. */
const MODEL_TRIALS_MAX = 300;

export function fitModel(data: TrialData, space: SearchSpace): Hyperparameters {
  return fitHyperparameters(observationsOf(selectTrials(data, FIT_TRIALS_MAX), space));
}

/** The model, and the points that it knows. */
export type TrialModel = { readonly model: GaussianProcess; readonly points: readonly Point[] };

export function modelTrials(data: TrialData, hyperparameters: Hyperparameters, space: SearchSpace): TrialModel {
  const observations = observationsOf(selectTrials(data, MODEL_TRIALS_MAX), space);
  return { model: conditionOn(observations, hyperparameters), points: observations.points };
}
