import { type Hyperparameters, listSquaredGaps, matern, maternSlope, type Observations } from './gaussian-process.ts';
import { addTransposed, dotProduct, halfLogDeterminant, invert, nextRow, whiten } from './inverse-factor.ts';
import { type Evaluation, type Interval, minimize } from './minimize.ts';

/** From each start; the fit goes on from the better result. */
const TRIAL_STEPS_MAX = 6;
const FIT_STEPS_MAX = 14;
const JITTER = 1e-9;
/** Little and much: a rough function and a noisy smooth one are two local optima of the fit. */
const NOISE_STARTS = [1e-3, 0.1];

/** Logarithms: the precision of each dimension, the signal variance, the noise variance. */
type Logarithms = Float64Array;

/** With the negative logarithm of their posterior density, up to a constant per observation. */
export type Fitted = Hyperparameters & { readonly unlikelihood: number };

/** The hyperparameters with the highest posterior density. Their priors keep them plausible if there are few trials. */
export function fitHyperparameters(observations: Observations, noiseMax = 1): Fitted {
  const dimensionsCount = observations.isCategory.length;
  const bounds: Interval[] = [
    ...observations.isCategory.map(() => ({ low: Math.log(1e-3), high: Math.log(1e4) })),
    { low: Math.log(1e-3), high: Math.log(1e2) },
    { low: Math.log(1e-6), high: Math.log(noiseMax) },
  ];
  const gaps = listSquaredGaps(observations);
  const evaluate = (x: Logarithms) => evaluatePosterior({ observations, gaps }, x);
  const trials = NOISE_STARTS.map((noise) =>
    minimize(evaluate, startAt(dimensionsCount, noise), { bounds, stepsMax: TRIAL_STEPS_MAX }),
  );
  const better = trials.reduce((one, other) => (other.value < one.value ? other : one));
  const best = minimize(evaluate, better.x, { bounds, stepsMax: FIT_STEPS_MAX });
  const x = Number.isFinite(best.value) ? best.x : startAt(dimensionsCount, 1e-3);
  return { ...readLogarithms(x), unlikelihood: best.value };
}

function startAt(dimensionsCount: number, noise: number): Logarithms {
  const start = new Float64Array(dimensionsCount + 2).fill(Math.log(4 / Math.max(1, dimensionsCount / 2)));
  start[dimensionsCount] = 0;
  start[dimensionsCount + 1] = Math.log(noise);
  return start;
}

function readLogarithms(x: Logarithms): Hyperparameters {
  return {
    precisions: x.subarray(0, -2).map(Math.exp),
    signalVariance: Math.exp(x.at(-2) ?? 0),
    noiseVariance: Math.exp(x.at(-1) ?? 0),
  };
}

type Fit = { readonly observations: Observations; readonly gaps: Float64Array };

/** The negative logarithm of the posterior density, up to a constant, and its gradient. */
function evaluatePosterior({ observations, gaps }: Fit, x: Logarithms): Evaluation {
  const { targets } = observations;
  const { precisions, signalVariance, noiseVariance } = readLogarithms(x);
  const squares = squaredDistances(gaps, precisions);
  const kernel = squares.map(matern);
  const slopes = squares.map(maternSlope);
  const factor = factorOf(kernel, targets.length, { signalVariance, noiseVariance });
  const whitened = whiten(factor, targets);
  const alpha = new Float64Array(targets.length);
  addTransposed(factor, whitened, alpha);
  const inverse = invert(factor);
  const gradient = new Float64Array(x.length);
  let [noiseSum, signalSum, pair] = [0, 0, 0];
  for (let i = 0; i < targets.length; i += 1) {
    const row = inverse[i] as Float64Array;
    const weight = alpha[i] as number;
    noiseSum += weight * weight - (row[i] as number);
    for (let j = 0; j < i; j += 1, pair += 1) {
      const pull = weight * (alpha[j] as number) - (row[j] as number);
      signalSum += 2 * pull * (kernel[pair] as number);
      const slope = -pull * signalVariance * (slopes[pair] as number);
      for (let d = 0, at = pair * precisions.length; d < precisions.length; d += 1, at += 1) {
        gradient[d] = (gradient[d] as number) + slope * (gaps[at] as number) * (precisions[d] as number);
      }
    }
  }
  gradient[precisions.length] = (-signalVariance * (signalSum + noiseSum)) / 2;
  gradient[precisions.length + 1] = (-noiseVariance * noiseSum) / 2;
  const value = dotProduct(whitened, whitened) / 2 + halfLogDeterminant(factor);
  return { value: value + addPriors(x, gradient), gradient };
}

function squaredDistances(gaps: Float64Array, precisions: Float64Array): Float64Array {
  const squares = new Float64Array(gaps.length / precisions.length);
  for (let pair = 0, at = 0; pair < squares.length; pair += 1) {
    let sum = 0;
    for (let d = 0; d < precisions.length; d += 1, at += 1) {
      sum += (precisions[d] as number) * (gaps[at] as number);
    }
    squares[pair] = sum;
  }
  return squares;
}

function factorOf(
  kernel: Float64Array,
  count: number,
  { signalVariance, noiseVariance }: Pick<Hyperparameters, 'signalVariance' | 'noiseVariance'>,
): Float64Array[] {
  const factor: Float64Array[] = [];
  const covariances = new Float64Array(count);
  for (let i = 0, pair = 0; i < count; i += 1) {
    for (let j = 0; j < i; j += 1, pair += 1) {
      covariances[j] = signalVariance * (kernel[pair] as number);
    }
    factor.push(nextRow(factor, covariances, signalVariance + noiseVariance + JITTER));
  }
  return factor;
}

/**
 * Adds the priors' gradient and returns their value: log-normal length scales that grow with the root of the number of
 * dimensions (Hvarfner et al. 2024), a signal variance near 1, little noise.
 */
function addPriors(x: Logarithms, gradient: Float64Array): number {
  const dimensionsCount = x.length - 2;
  const precision = { center: -2 * (Math.log(0.5) + Math.log(dimensionsCount) / 2), spread: 2.2 };
  let value = 0;
  for (const [index, at] of x.entries()) {
    const { center, spread } =
      index < dimensionsCount
        ? precision
        : index === dimensionsCount
          ? { center: 0, spread: 1 }
          : { center: Math.log(1e-4), spread: 3 };
    const offset = (at - center) / spread;
    value += (offset * offset) / 2;
    gradient[index] = (gradient[index] ?? 0) + offset / spread;
  }
  return value;
}
