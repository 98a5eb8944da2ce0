import { fitFailures, modelFailures } from './failure-model.ts';
import type { Hyperparameters } from './gaussian-process.ts';
import { compareRepeats, isNoisy, type Repeats } from './noise.ts';
import { createHalton, type Random } from './random.ts';
import { findMostPromising } from './search-acquisition.ts';
import { coordinateOf, keyOf, type Point, pointFromSamples, type SearchSpace } from './search-space.ts';
import type { TrialData } from './trial-data.ts';
import { fitModel, modelTrials, type TrialModel } from './trial-model.ts';

const ANCHORS_MAX = 5;
/** Every so many suggestions, the model is made less certain between its trials. */
const EXPLORATION_PERIOD = 4;
const EXPLORATION_PRECISION_FACTOR = 4;
const REPETITION_TRIALS_MIN = 10;
const PENDING_DISTANCE_MIN = 0.01;
const CANDIDATES_MIN = 150;
const CANDIDATES_MAX = 300;
const CANDIDATE_PRODUCTS_MAX = 1e7;
const START_CANDIDATES = 32;
/** Success is 1, failure -1, and what is unknown 0. */
const EXPECTED_FAILURE = -0.1;

export type SearchStep = {
  readonly pending: readonly Point[];
  readonly ordinal: number;
  readonly random: Random;
  readonly isTaken: (point: Point) => boolean;
};

export type Searcher = {
  /** The next point to try; undefined if every point that was considered is taken. */
  search(step: SearchStep): Point | undefined;
};

/** Searches with a Gaussian process; with points that cover the space evenly until there are trials to model. */
export function createSearcher(
  space: SearchSpace,
  { data: all, seed }: { readonly data: TrialData; readonly seed: string },
): Searcher {
  const startCount = Math.min(8, Math.max(4, space.dimensions.length + 1));
  // If most trials fail, waiting for more that succeed would be a random search.
  if (all.points.length < (all.failed.length > 20 ? 2 : startCount)) {
    return createStart(space, { data: all, seed });
  }
  const { data, fitted } = fitModel(all, space);
  const cautious = {
    ...fitted,
    precisions: fitted.precisions.map((precision) => precision * EXPLORATION_PRECISION_FACTOR),
  };
  const usual = createPendingModel(data, fitted, space);
  const exploring = createPendingModel(data, cautious, space);
  const failureModel = modelFailures(data, fitted, space);
  const repeated = findPointToRepeat(data, fitted, compareRepeats(all));
  return {
    search({ pending, ordinal, random, isTaken }) {
      if (repeated !== undefined && !pending.some((point) => keyOf(point) === keyOf(repeated))) {
        return repeated;
      }
      const isExploring = ordinal % EXPLORATION_PERIOD === EXPLORATION_PERIOD - 1;
      const { model, points } = (isExploring ? exploring : usual).with(pending);
      const ranked = points
        .map((point) => ({ point, mean: model.predict(point).mean }))
        .sort((a, b) => a.mean - b.mean);
      const candidates = Math.floor(CANDIDATE_PRODUCTS_MAX / points.length ** 2);
      return findMostPromising({
        space,
        model,
        failureModel,
        best: ranked[0]?.mean ?? 0,
        anchors: ranked.slice(0, ANCHORS_MAX).map(({ point }) => point),
        candidatesCount: Math.min(CANDIDATES_MAX, Math.max(CANDIDATES_MIN, candidates)),
        isTaken: (point) => isTaken(point) || pending.some((other) => areNear(space, point, other)),
        seed: `${seed}/${ordinal}/candidates`,
        random,
      });
    },
  };
}

/**
 * The point with the best report, if the model suspects noise and no values were tried twice: the second report shows
 * whether there is any, and whether the first one was luck. Further repetitions are not better than other trials, also
 * if the second report is an outlier, which the data do not have.
 */
function findPointToRepeat(data: TrialData, fitted: Hyperparameters, repeats: Repeats): Point | undefined {
  return data.points.length >= REPETITION_TRIALS_MIN && repeats === 'NONE' && isNoisy(fitted, repeats)
    ? data.points[data.costs.indexOf(lowestOf(data.costs))]
    : undefined;
}

function lowestOf(costs: readonly number[]): number {
  return costs.reduce((lowest, cost) => Math.min(lowest, cost), Infinity);
}

/** In every dimension; two such trials at the same time would teach hardly more than one. */
function areNear({ dimensions }: SearchSpace, one: Point, other: Point): boolean {
  return dimensions.every(({ isSmooth }, index) => {
    const gap = Math.abs(coordinateOf(one, index) - coordinateOf(other, index));
    return gap < (isSmooth ? PENDING_DISTANCE_MIN : Number.EPSILON);
  });
}

/**
 * A middle point first, then points that cover the space evenly. Once some trials have failed and others succeeded, a
 * point that is expected to fail is replaced by one of START_CANDIDATES others: otherwise a category that always fails
 * would be tried as often as the others until the model begins. Failures alone would lead to the corners, which are the
 * farthest from them.
 */
function createStart(
  space: SearchSpace,
  { data, seed }: { readonly data: TrialData; readonly seed: string },
): Searcher {
  const { length } = space.dimensions;
  const halton = createHalton(length, seed);
  const isEmpty = data.points.length + data.failed.length === 0;
  const hasBoth = data.failed.length > 0 && data.points.length > 0;
  const failureModel = hasBoth ? modelFailures(data, fitFailures(data, space), space) : null;
  const toPoint = (samples: Float64Array) => pointFromSamples(space, samples);
  const samplesAt = (ordinal: number) =>
    ordinal === 0 && isEmpty ? new Float64Array(length).fill(0.5) : halton(ordinal);
  return {
    search({ ordinal, isTaken }) {
      const first = toPoint(samplesAt(ordinal));
      const success = (point: Point) => failureModel?.predict(point).mean ?? 0;
      if (success(first) >= EXPECTED_FAILURE) {
        return isTaken(first) ? undefined : first;
      }
      const others = createHalton(length, `${seed}/${ordinal}/start`);
      const candidates = [first, ...Array.from({ length: START_CANDIDATES }, (_, index) => toPoint(others(index)))]
        .filter((point) => !isTaken(point))
        .map((point) => ({ point, mean: success(point) }));
      // The first that may succeed, not the most probable one: the points should still cover the space.
      const chosen = candidates.find(({ mean }) => mean >= EXPECTED_FAILURE);
      return (chosen ?? candidates.sort((a, b) => b.mean - a.mean)[0])?.point;
    },
  };
}

/**
 * A model in which pending trials have ended as it predicts, so that the search does not return to them. Pending points
 * are expected to be appended only.
 */
function createPendingModel(data: TrialData, hyperparameters: Hyperparameters, space: SearchSpace) {
  let current: TrialModel | null = null;
  let pendingCount = 0;
  return {
    with(pending: readonly Point[]): TrialModel {
      let next = current ?? modelTrials(data, hyperparameters, space);
      for (const point of pending.slice(pendingCount)) {
        const { model, points } = next;
        next = { model: model.observe(point, model.predict(point).mean), points: [...points, point] };
      }
      current = next;
      pendingCount = pending.length;
      return next;
    },
  };
}
