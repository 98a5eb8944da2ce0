import { addTransposed, dotProduct, invert, nextRow, whiten } from './inverse-factor.ts';
import { coordinateOf, type Point } from './search-space.ts';

const ROOT5 = Math.sqrt(5);
const JITTER = 1e-9;
const VARIANCE_MIN = 1e-10;

/** The hyperparameters of a Matérn-5/2 kernel with a length scale per dimension and independent noise. */
export type Hyperparameters = {
  /** Inverse squared length scales. */
  readonly precisions: Float64Array;
  readonly signalVariance: number;
  readonly noiseVariance: number;
};

/** The observations; targets have mean 0 and variance 1. */
export type Observations = {
  readonly points: readonly Point[];
  readonly targets: Float64Array;
  readonly isCategory: readonly boolean[];
};

/** Mean and standard deviation of the objective without its noise. */
export type Prediction = { readonly mean: number; readonly deviation: number };

/** Slopes per dimension, except for categories. */
export type PredictionWithSlopes = Prediction & {
  readonly meanSlopes: Float64Array;
  readonly deviationSlopes: Float64Array;
};

export type GaussianProcess = {
  readonly hyperparameters: Hyperparameters;
  predict(point: Point): Prediction;
  predictWithSlopes(point: Point): PredictionWithSlopes;
  /** The process with one observation more. */
  observe(point: Point, target: number): GaussianProcess;
};

type State = {
  readonly hyperparameters: Hyperparameters;
  readonly isCategory: readonly boolean[];
  readonly points: readonly Point[];
  readonly factor: readonly Float64Array[];
  /** The targets, decorrelated by the factor. */
  readonly whitened: Float64Array;
};

export function conditionOn(observations: Observations, hyperparameters: Hyperparameters): GaussianProcess {
  return createProcess(stateOf(observations, hyperparameters));
}

/** How far each target is above what the other observations predict. */
export function listResiduals(observations: Observations, hyperparameters: Hyperparameters): Float64Array {
  const { factor, whitened } = stateOf(observations, hyperparameters);
  const residuals = new Float64Array(factor.length);
  addTransposed(factor, whitened, residuals);
  const inverse = invert(factor);
  return residuals.map((weight, index) => weight / (inverse[index]?.[index] ?? 1));
}

function stateOf(observations: Observations, hyperparameters: Hyperparameters): State {
  const { points, targets, isCategory } = observations;
  const { signalVariance, noiseVariance } = hyperparameters;
  const factor: Float64Array[] = [];
  for (const [index, point] of points.entries()) {
    const covariances = new Float64Array(index);
    for (let other = 0; other < index; other += 1) {
      covariances[other] =
        signalVariance * matern(squaredDistance({ hyperparameters, isCategory }, point, points[other] as Point));
    }
    factor.push(nextRow(factor, covariances, signalVariance + noiseVariance + JITTER));
  }
  return { hyperparameters, isCategory, points, factor, whitened: whiten(factor, targets) };
}

function createProcess(state: State): GaussianProcess {
  const { hyperparameters, points, factor, whitened } = state;
  const { signalVariance, noiseVariance } = hyperparameters;
  return {
    hyperparameters,
    predict: (point) => predictFrom(state, covariancesWith(state, point)),
    predictWithSlopes: (point) => predictSlopes(state, point),
    observe(point, target) {
      const covariances = covariancesWith(state, point);
      const row = nextRow(factor, covariances, signalVariance + noiseVariance + JITTER);
      const targets = new Float64Array(points.length + 1);
      targets.set(whitened);
      targets[points.length] = whitenedTarget(row, state, { covariances, target });
      return createProcess({ ...state, points: [...points, point], factor: [...factor, row], whitened: targets });
    },
  };
}

/** The last entry of R · targets, without the targets of the other points: those follow from the whitened ones. */
function whitenedTarget(
  row: Float64Array,
  { factor, whitened }: State,
  { covariances, target }: { readonly covariances: Float64Array; readonly target: number },
): number {
  const mean = dotProduct(whiten(factor, covariances), whitened);
  return (target - mean) * (row.at(-1) ?? 1);
}

function covariancesWith(state: State, point: Point): Float64Array {
  const { points, hyperparameters } = state;
  const covariances = new Float64Array(points.length);
  for (let index = 0; index < points.length; index += 1) {
    covariances[index] = hyperparameters.signalVariance * matern(squaredDistance(state, point, points[index] as Point));
  }
  return covariances;
}

function predictFrom({ factor, whitened, hyperparameters }: State, covariances: Float64Array) {
  const weights = whiten(factor, covariances);
  const variance = hyperparameters.signalVariance - dotProduct(weights, weights);
  return { mean: dotProduct(weights, whitened), deviation: Math.sqrt(Math.max(VARIANCE_MIN, variance)), weights };
}

function predictSlopes(state: State, point: Point): PredictionWithSlopes {
  const { points, isCategory, hyperparameters, factor, whitened } = state;
  const { precisions, signalVariance } = hyperparameters;
  const { mean, deviation, weights } = predictFrom(state, covariancesWith(state, point));
  const meanWeights = new Float64Array(points.length);
  const varianceWeights = new Float64Array(points.length);
  addTransposed(factor, whitened, meanWeights);
  addTransposed(factor, weights, varianceWeights);
  const meanSlopes = new Float64Array(isCategory.length);
  const deviationSlopes = new Float64Array(isCategory.length);
  for (let index = 0; index < points.length; index += 1) {
    const other = points[index] as Point;
    const slope = signalVariance * maternSlope(squaredDistance(state, point, other));
    for (let d = 0; d < isCategory.length; d += 1) {
      if (!isCategory[d]) {
        const gap = (point[d] as number) - (other[d] as number);
        const change = 2 * (precisions[d] as number) * gap * slope;
        meanSlopes[d] = (meanSlopes[d] as number) + change * (meanWeights[index] as number);
        deviationSlopes[d] = (deviationSlopes[d] as number) - (change * (varianceWeights[index] as number)) / deviation;
      }
    }
  }
  return { mean, deviation, meanSlopes, deviationSlopes };
}

/** The kernel at a squared distance in length scales. */
export function matern(squared: number): number {
  const root = ROOT5 * Math.sqrt(squared);
  return Math.exp(-root) * (1 + root + (root * root) / 3);
}

/** The derivative of `matern` by the squared distance. */
export function maternSlope(squared: number): number {
  const root = ROOT5 * Math.sqrt(squared);
  return (-5 / 6) * Math.exp(-root) * (1 + root);
}

/** Categories have distance 0 or 1 (Hamming), which keeps the kernel positive definite. */
function squaredDistance(
  { hyperparameters, isCategory }: Pick<State, 'hyperparameters' | 'isCategory'>,
  a: Point,
  b: Point,
): number {
  const { precisions } = hyperparameters;
  let sum = 0;
  for (let d = 0; d < precisions.length; d += 1) {
    const gap = (a[d] as number) - (b[d] as number);
    sum += (precisions[d] as number) * (isCategory[d] ? Number(gap !== 0) : gap * gap);
  }
  return sum;
}

/** The squared distance per dimension, for every pair of points with i > j, in the order of i and then j. */
export function listSquaredGaps({ points, isCategory }: Observations): Float64Array {
  const gaps = new Float64Array(((points.length * (points.length - 1)) / 2) * isCategory.length);
  let at = 0;
  for (const [i, a] of points.entries()) {
    for (const b of points.slice(0, i)) {
      for (const [d, isDiscrete] of isCategory.entries()) {
        const gap = coordinateOf(a, d) - coordinateOf(b, d);
        gaps[at] = isDiscrete ? Number(gap !== 0) : gap * gap;
        at += 1;
      }
    }
  }
  return gaps;
}
