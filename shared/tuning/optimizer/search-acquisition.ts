import type { Dimension } from './dimension.ts';
import { logExpectedImprovement, logLearningShare, logSuccessProbability } from './expected-improvement.ts';
import type { GaussianProcess } from './gaussian-process.ts';
import { minimize } from './minimize.ts';
import { createHalton, type Random, sampleNormal } from './random.ts';
import { coordinateOf, isActive, type Point, pointFromSamples, type SearchSpace, snap } from './search-space.ts';

const NEAR_CANDIDATES = 30;
const REFINED_STARTS = 6;
const REFINE_STEPS_MAX = 25;
const NEIGHBOR_ROUNDS_MAX = 4;
const NEIGHBORS_MAX = 200;
const NEIGHBOR_CATEGORIES_MAX = 12;
const STEP_SIZES = [0.2, 0.05, 0.01];
/** Starts that are nearer to each other than this in all dimensions end at the same maximum. */
const START_DISTANCE_MIN = 0.02;

export type Search = {
  readonly space: SearchSpace;
  readonly model: GaussianProcess;
  /** Predicts 1 where trials succeed and -1 where they fail; null if none has failed. */
  readonly failureModel: GaussianProcess | null;
  /** The predicted objective to improve on. */
  readonly best: number;
  /** Points to search around: the best so far. */
  readonly anchors: readonly Point[];
  readonly candidatesCount: number;
  readonly isTaken: (point: Point) => boolean;
  readonly seed: string;
  readonly random: Random;
};

type Candidate = { readonly point: Point; readonly value: number };

/**
 * The point with the highest expected improvement, weighted with the probability not to fail: candidates in the whole
 * space and around the best, the most promising of which are refined. Undefined if all of them are taken.
 */
export function findMostPromising(search: Search): Point | undefined {
  const candidates = [...listCandidates(search), ...search.anchors]
    .map((point) => ({ point, value: score(search, point) }))
    .sort((a, b) => b.value - a.value);
  const refined = selectStarts(candidates).map(({ point }) => tryNeighbors(search, followSlopes(search, point)));
  const ranked = [...refined.sort((a, b) => b.value - a.value), ...candidates];
  return ranked.find(({ point }) => !search.isTaken(point))?.point;
}

function score({ model, failureModel, best }: Search, point: Point): number {
  const success = failureModel === null ? 0 : logSuccessProbability(failureModel.predict(point)).value;
  const prediction = model.predict(point);
  const learning = logLearningShare(prediction, model.hyperparameters.noiseVariance);
  return logExpectedImprovement(prediction, best).value + learning + success;
}

function listCandidates(search: Search): Point[] {
  const { space, anchors, candidatesCount, seed } = search;
  const halton = createHalton(space.dimensions.length, seed);
  const spread = Array.from({ length: candidatesCount }, (_, index) => pointFromSamples(space, halton(index)));
  const near = anchors.flatMap((anchor) => Array.from({ length: NEAR_CANDIDATES }, () => moveSome(search, anchor)));
  return [...spread, ...near];
}

/** Moves a random share of the coordinates; at least one on average. Parameters that become active are drawn. */
function moveSome({ space, random }: Search, anchor: Point): Point {
  const size = STEP_SIZES[Math.floor(random() * STEP_SIZES.length)] ?? 0.1;
  const share = Math.max(random(), 1 / space.dimensions.length);
  const moved = anchor.slice();
  for (const [index, dimension] of space.dimensions.entries()) {
    if (!isActive(space, moved, index)) {
      continue;
    }
    if (!isActive(space, anchor, index)) {
      moved[index] = dimension.fromUniform(random());
    } else if (random() < share) {
      moved[index] = moveCoordinate(dimension, { from: coordinateOf(anchor, index), size }, random);
    }
  }
  return snap(space, moved);
}

function moveCoordinate(dimension: Dimension, { from, size }: { from: number; size: number }, random: Random): number {
  if (dimension.isCategory) {
    return dimension.fromUniform(random());
  }
  const step = size * sampleNormal(random);
  const moved = Math.min(1, Math.max(0, from + step));
  if (dimension.count === Infinity || dimension.indexAt(moved) !== dimension.indexAt(from)) {
    return moved;
  }
  // Rounding would undo the move.
  return coordinateNextTo(dimension, from, step < 0 ? -1 : 1);
}

function coordinateNextTo(dimension: Dimension, coordinate: number, steps: number): number {
  const index = dimension.indexAt(coordinate) + steps;
  return dimension.coordinateAt(Math.min(dimension.count - 1, Math.max(0, index)));
}

/** The best candidates, at a distance from each other. */
function selectStarts(ranked: readonly Candidate[]): Candidate[] {
  const starts: Candidate[] = [];
  for (const candidate of ranked) {
    const isNear = starts.some(({ point }) =>
      point.every((at, index) => Math.abs(at - coordinateOf(candidate.point, index)) < START_DISTANCE_MIN),
    );
    if (!isNear && starts.push(candidate) === REFINED_STARTS) {
      break;
    }
  }
  return starts;
}

function followSlopes({ space, model, failureModel, best }: Search, point: Point): Point {
  const isMoving = space.dimensions.map(({ isSmooth }, index) => isSmooth && isActive(space, point, index));
  if (!isMoving.includes(true)) {
    return point;
  }
  const bounds = isMoving.map((moves, index) => {
    const at = coordinateOf(point, index);
    return moves ? { low: 0, high: 1 } : { low: at, high: at };
  });
  const evaluate = (x: Point) => {
    const { meanSlopes, deviationSlopes, ...prediction } = model.predictWithSlopes(x);
    const improvement = logExpectedImprovement(prediction, best);
    const failure = failureModel?.predictWithSlopes(x);
    const success = failure === undefined ? { value: 0, perMean: 0 } : logSuccessProbability(failure);
    const gradient = meanSlopes.map((meanSlope, index) => {
      const slope =
        improvement.perMean * meanSlope +
        improvement.perDeviation * (deviationSlopes[index] ?? 0) +
        success.perMean * (failure?.meanSlopes[index] ?? 0);
      return isMoving[index] ? -slope : 0;
    });
    return { value: -improvement.value - success.value, gradient };
  };
  return snap(space, minimize(evaluate, point, { bounds, stepsMax: REFINE_STEPS_MAX }).x);
}

/**
 * Changes one coordinate at a time, as long as that helps: other categories, and neighboring values on a grid. A limit
 * on the changes that are tried bounds its time in large spaces; there it starts with a random parameter.
 */
function tryNeighbors(search: Search, start: Point): Candidate {
  const { space, random } = search;
  const { length } = space.dimensions;
  const first = length > NEIGHBORS_MAX / 4 ? Math.floor(random() * length) : 0;
  let current: Candidate = { point: start, value: score(search, start) };
  let tried = 0;
  for (let round = 0, improved = true; improved && round < NEIGHBOR_ROUNDS_MAX; round += 1) {
    improved = false;
    for (let step = 0; step < length; step += 1) {
      const index = (first + step) % length;
      for (const coordinate of listNeighbors(search, current.point, index)) {
        const point = changeCoordinate(search, current.point, { index, coordinate });
        const value = score(search, point);
        if (value > current.value + 1e-9) {
          [current, improved] = [{ point, value }, true];
        }
        tried += 1;
        if (tried === NEIGHBORS_MAX) {
          return current;
        }
      }
    }
  }
  return current;
}

function changeCoordinate({ space, random }: Search, from: Point, change: { index: number; coordinate: number }) {
  const point = from.with(change.index, change.coordinate);
  for (const [index, dimension] of space.dimensions.entries()) {
    if (dimension.parent !== null && isActive(space, point, index) && !isActive(space, from, index)) {
      point[index] = dimension.fromUniform(random());
    }
  }
  return snap(space, point);
}

function listNeighbors({ space, random }: Search, point: Point, dimensionIndex: number): number[] {
  const dimension = space.dimensions[dimensionIndex];
  if (dimension === undefined || !(dimension.count < Infinity && dimension.count > 1)) {
    return [];
  }
  if (!isActive(space, point, dimensionIndex)) {
    return [];
  }
  const { count, isCategory } = dimension;
  if (!isCategory) {
    const index = dimension.indexAt(coordinateOf(point, dimensionIndex));
    return [-1, 1, -3, 3]
      .map((steps) => index + steps)
      .filter((other) => other >= 0 && other < count)
      .map(dimension.coordinateAt);
  }
  return count <= NEIGHBOR_CATEGORIES_MAX
    ? Array.from({ length: count }, (_, category) => category)
    : Array.from({ length: NEIGHBOR_CATEGORIES_MAX }, () => dimension.fromUniform(random()));
}
