import type { Metric, Parameter } from '#shared/domain/study.ts';
import { compareRepeats, isNoisy } from './noise.ts';
import { readSearchSpace } from './search-space.ts';
import { type FinishedTrial, readTrials } from './trial-data.ts';
import { fitModel, modelTrials } from './trial-model.ts';

/** Positions in the list of finished trials. */
export type BestTrials = {
  /** The trial that reported the best objective. */
  readonly reported: number;
  /** The trial whose values are expected to be best, given all trials: under noise, the best report was also lucky. */
  readonly recommended: number;
  /** The objective that the recommended trial's values are expected to have. */
  readonly expected: number;
};

/** The best of the finished trials; null if none has an objective. */
export function chooseBest(request: {
  readonly parameters: readonly Parameter[];
  readonly goal: Metric['goal'];
  readonly finished: readonly FinishedTrial[];
}): BestTrials | null {
  const space = readSearchSpace(request.parameters);
  const all = readTrials(request.finished, { space, goal: request.goal });
  const reported = all.positions[indexOfLowest(all.costs) ?? -1];
  if (reported === undefined) {
    return null;
  }
  const { data, fitted } = fitModel(all, space);
  if (!isNoisy(fitted, compareRepeats(data))) {
    return { reported, recommended: reported, expected: request.finished[reported]?.objective ?? 0 };
  }
  const { model } = modelTrials(data, fitted, space);
  const means = data.points.map((point) => model.predict(point).mean);
  const lowest = indexOfLowest(means) ?? 0;
  return { reported, recommended: data.positions[lowest] ?? reported, expected: data.objectiveOf(means[lowest] ?? 0) };
}

function indexOfLowest(values: ArrayLike<number>): number | undefined {
  let lowest: number | undefined;
  for (let index = 0; index < values.length; index += 1) {
    if (lowest === undefined || (values[index] ?? 0) < (values[lowest] ?? 0)) {
      lowest = index;
    }
  }
  return lowest;
}
