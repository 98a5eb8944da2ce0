import type { Prediction } from './gaussian-process.ts';

/** A value and its derivatives by mean and standard deviation. */
export type Score = { readonly value: number; readonly perMean: number; readonly perDeviation: number };

/**
 * The logarithm of the expected improvement on `best`, for a minimum (LogEI, Ament et al. 2023). Unlike the expected
 * improvement, it has slopes where an improvement is nearly impossible.
 */
export function logExpectedImprovement({ mean, deviation }: Prediction, best: number): Score {
  const z = (best - mean) / deviation;
  if (z < -5) {
    // The asymptotic series of the normal distribution's tail, and of the integral of that tail.
    const square = 1 / (z * z);
    const tail = 1 - square * (1 - square * (3 - 15 * square));
    const gain = 1 - square * (3 - square * (15 - 105 * square));
    return {
      value: (-z * z) / 2 - Math.log(2 * Math.PI) / 2 + Math.log(square * gain) + Math.log(deviation),
      perMean: (z * tail) / gain / deviation,
      perDeviation: (z * z) / gain / deviation,
    };
  }
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  const below = complementaryError(-z / Math.SQRT2) / 2;
  const gain = density + z * below;
  return {
    value: Math.log(gain) + Math.log(deviation),
    perMean: -below / gain / deviation,
    perDeviation: density / gain / deviation,
  };
}

/**
 * The logarithm of the share of the uncertainty that a trial with noise removes (augmented expected improvement, Huang
 * et al. 2006): it keeps a noisy search from repeating what it knows as well as the noise allows.
 */
export function logLearningShare({ deviation }: Prediction, noiseVariance: number): number {
  return Math.log(Math.max(SHARE_MIN, 1 - Math.sqrt(noiseVariance / (noiseVariance + deviation * deviation))));
}

const SHARE_MIN = 1e-12;

/** Added to the variance of the failure model, so that its estimates are never certain. */
const FAILURE_VARIANCE = 0.1;
const PROBABILITY_MIN = 1e-9;

/** The logarithm of the probability that a trial does not fail, and its derivative by the mean. */
export function logSuccessProbability({ mean, deviation }: Prediction): Omit<Score, 'perDeviation'> {
  const scale = Math.sqrt(deviation * deviation + FAILURE_VARIANCE);
  const probability = Math.max(PROBABILITY_MIN, complementaryError(-mean / scale / Math.SQRT2) / 2);
  const density = Math.exp((-mean * mean) / (2 * scale * scale)) / Math.sqrt(2 * Math.PI) / scale;
  return { value: Math.log(probability), perMean: density / probability };
}

/** The Chebyshev fit of Numerical Recipes; its relative error is below 1.2e-7. */
function complementaryError(x: number): number {
  const t = 2 / (2 + Math.abs(x));
  let sum = 0;
  for (const term of CHEBYSHEV) {
    sum = sum * t + term;
  }
  const tail = t * Math.exp(-x * x + sum);
  return x >= 0 ? tail : 2 - tail;
}

const CHEBYSHEV = [
  0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368,
  -1.26551223,
];
