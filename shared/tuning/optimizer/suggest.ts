import type { Metric, Parameter, StudyAlgorithm } from '#shared/domain/study.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { gridSize, gridValues } from './grid.ts';
import { createRandom, type Random } from './random.ts';
import { scalarize, weightsAt } from './scalarize.ts';
import {
  completeValues,
  keyOf,
  type Point,
  pointFromSamples,
  pointOf,
  readSearchSpace,
  type SearchSpace,
  valuesOf,
} from './search-space.ts';
import { createSearcher, type Searcher } from './searcher.ts';
import { type FinishedTrial, readTrials, type TrialData } from './trial-data.ts';

export type SuggestRequest = {
  readonly parameters: readonly Parameter[];
  readonly goal: Metric['goal'];
  /** The goals of the further objectives, in the order of the study. */
  readonly furtherGoals?: readonly Metric['goal'][];
  readonly algorithm: StudyAlgorithm;
  /** Trials of earlier tunings come first; those with values that this space does not have are ignored. */
  readonly finished: readonly FinishedTrial[];
  readonly pending: readonly Values[];
  /** Values of the next trials, as far as a user has given them; the trials after them are chosen. */
  readonly start?: readonly Values[];
  /** The number of trials that were suggested before. */
  readonly ordinal: number;
  /** The tuning's id. */
  readonly seed: string;
};

/**
 * The values of the next trials, each chosen as if those before it were pending. The same request returns the same
 * values. Returns fewer than `count` only if all other combinations of a finite space were tried.
 */
export function suggest(request: SuggestRequest, count: number): readonly Values[] {
  const { parameters, algorithm, start: [given, ...start] = [], pending, ordinal } = request;
  if (given !== undefined && count > 0) {
    const [chosen = {}] = chooseOneByOne(request, { size: Infinity, count: 1 });
    const values = completeValues(readSearchSpace(parameters), given, chosen);
    const next = { ...request, start, pending: [...pending, values], ordinal: ordinal + 1 };
    return [values, ...suggest(next, count - 1)];
  }
  const size = gridSize(parameters);
  return algorithm === 'GRID' && size !== Infinity
    ? listGrid(request, { size, count })
    : chooseOneByOne(request, { size, count });
}

/** The first combinations that were not tried. */
function listGrid(request: SuggestRequest, { size, count }: Extent): Values[] {
  const { parameters } = request;
  const space = readSearchSpace(parameters);
  const { taken } = readRequest(request, space);
  const chosen: Values[] = [];
  for (let index = 0; index < size && chosen.length < count; index += 1) {
    const values = gridValues(parameters, index);
    const point = pointOf(space, values);
    if (point === undefined || !taken.has(keyOf(point))) {
      chosen.push(values);
    }
  }
  return chosen;
}

/** The number of combinations, and of suggestions to make. */
type Extent = { readonly size: number; readonly count: number };

function chooseOneByOne(request: SuggestRequest, { size, count }: Extent): Values[] {
  const space = readSearchSpace(request.parameters);
  const { data, pending, taken } = readRequest(request, space);
  const searcherAt = createSearchers(request, { space, data, count });
  const chosen: Values[] = [];
  for (let index = 0; index < count && taken.size < size; index += 1) {
    const searcher = searcherAt(index);
    const ordinal = request.ordinal + index;
    const random = createRandom(`${request.seed}/${ordinal}`);
    const isTaken = (point: Point) => taken.has(keyOf(point));
    const point =
      searcher?.search({ pending, ordinal, random, isTaken }) ??
      drawUntaken(request.parameters, { space, size, takenCount: taken.size, isTaken, random });
    pending.push(point);
    taken.add(keyOf(point));
    chosen.push(valuesOf(space, point));
  }
  return chosen;
}

/** Models of several objectives that one request builds: each takes about 0.1 s after hundreds of trials. */
const WEIGHTS_PER_REQUEST_MAX = 10;

/** The searcher of each suggestion; null for a random search. With several objectives, each weighs them differently. */
function createSearchers(
  { algorithm, finished, goal, furtherGoals = [], seed, ordinal }: SuggestRequest,
  { space, data, count }: { readonly space: SearchSpace; readonly data: TrialData; readonly count: number },
): (index: number) => Searcher | null {
  if (algorithm !== 'BAYESIAN') {
    return () => null;
  }
  if (furtherGoals.length === 0) {
    const searcher = createSearcher(space, { data, seed });
    return () => searcher;
  }
  const goals = [goal, ...furtherGoals];
  const known = finished.filter(({ values }) => pointOf(space, values) !== undefined);
  const searchers = new Map<number, Searcher>();
  return (index) => {
    const first = Math.floor((index * WEIGHTS_PER_REQUEST_MAX) / Math.max(count, WEIGHTS_PER_REQUEST_MAX));
    const weights = weightsAt(ordinal + first, goals.length, seed);
    const weighed = () => readTrials(scalarize(known, { goals, weights }), { space, goal: 'MINIMIZE' });
    const searcher = searchers.get(first) ?? createSearcher(space, { data: weighed(), seed });
    searchers.set(first, searcher);
    return searcher;
  };
}

function readRequest({ finished, goal, pending: pendingValues }: SuggestRequest, space: SearchSpace) {
  const data = readTrials(finished, { space, goal });
  const pending = pendingValues.flatMap((values) => pointOf(space, values) ?? []);
  return { data, pending, taken: new Set([...data.points, ...data.failed, ...pending].map(keyOf)) };
}

type Draw = {
  readonly space: SearchSpace;
  readonly size: number;
  readonly takenCount: number;
  readonly isTaken: (point: Point) => boolean;
  readonly random: Random;
};

const DRAWS_MAX = 20;

/** A random point, of a finite space one that was not tried. */
function drawUntaken(parameters: readonly Parameter[], { space, size, takenCount, isTaken, random }: Draw): Point {
  const draw = () => pointFromSamples(space, Float64Array.from(space.dimensions, random));
  for (let tries = 0; tries < DRAWS_MAX; tries += 1) {
    const point = draw();
    if (!isTaken(point)) {
      return point;
    }
  }
  if (Number.isSafeInteger(size)) {
    const first = Math.floor(random() * size);
    for (let offset = 0; offset < Math.min(size, takenCount + 1); offset += 1) {
      const point = pointOf(space, gridValues(parameters, (first + offset) % size));
      if (point !== undefined && !isTaken(point)) {
        return point;
      }
    }
  }
  return draw();
}
