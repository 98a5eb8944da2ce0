import { dotProduct } from './inverse-factor.ts';

export type Evaluation = { readonly value: number; readonly gradient: Float64Array };
export type Interval = { readonly low: number; readonly high: number };

const PAIRS_MAX = 5;
const CUTS_MAX = 12;

type Pair = { readonly step: Float64Array; readonly change: Float64Array; readonly curvature: number };

/**
 * Minimizes a smooth function in a box with projected L-BFGS. Returns the best point after `stepsMax` steps, or earlier
 * at a local minimum; it can be the start.
 */
export function minimize(
  evaluate: (x: Float64Array) => Evaluation,
  start: Float64Array,
  { bounds, stepsMax }: { readonly bounds: readonly Interval[]; readonly stepsMax: number },
): { readonly x: Float64Array; readonly value: number } {
  const clip = (value: number, index: number) => {
    const { low, high } = bounds[index] ?? { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
    return Math.min(high, Math.max(low, value));
  };
  const pairs: Pair[] = [];
  let x = start.map(clip);
  let current = evaluate(x);
  for (let step = 0; step < stepsMax; step += 1) {
    // The gradient without the components that point out of the box.
    const free = current.gradient.map((slope, index) => {
      const at = x[index] ?? 0;
      return clip(at - slope, index) === at ? 0 : slope;
    });
    const length = Math.sqrt(dotProduct(free, free));
    if (!(length > 1e-6)) {
      break;
    }
    const direction = descentDirection(free, pairs);
    let next = { x, ...current };
    let scale = pairs.length === 0 ? Math.min(1, 0.3 / length) : 1;
    for (let cut = 0; cut < CUTS_MAX; cut += 1, scale *= 0.4) {
      const tried = x.map((at, index) => clip(at + scale * (direction[index] ?? 0), index));
      next = { x: tried, ...evaluate(tried) };
      if (next.value <= current.value + 1e-4 * dotProduct(current.gradient, subtract(tried, x))) {
        break;
      }
    }
    if (!(next.value < current.value)) {
      break;
    }
    remember(pairs, subtract(next.x, x), subtract(next.gradient, current.gradient));
    const gain = current.value - next.value;
    x = next.x;
    current = next;
    if (gain < 1e-5 * (1 + Math.abs(current.value))) {
      break;
    }
  }
  return { x, value: current.value };
}

function remember(pairs: Pair[], step: Float64Array, change: Float64Array): void {
  const curvature = dotProduct(step, change);
  if (curvature > 1e-10) {
    pairs.push({ step, change, curvature });
    pairs.splice(0, pairs.length - PAIRS_MAX);
  }
}

/** The two-loop recursion of L-BFGS; steepest descent if its result is not a direction of descent. */
function descentDirection(gradient: Float64Array, pairs: readonly Pair[]): Float64Array {
  const direction = gradient.map((slope) => -slope);
  const weights = pairs.toReversed().map(({ step, change, curvature }) => {
    const weight = dotProduct(step, direction) / curvature;
    addScaled(direction, -weight, change);
    return weight;
  });
  const last = pairs.at(-1);
  if (last !== undefined) {
    const scale = last.curvature / dotProduct(last.change, last.change);
    direction.forEach((value, index) => {
      direction[index] = value * scale;
    });
  }
  for (const [index, { step, change, curvature }] of pairs.entries()) {
    const weight = weights[pairs.length - 1 - index] ?? 0;
    addScaled(direction, weight - dotProduct(change, direction) / curvature, step);
  }
  return dotProduct(direction, gradient) < 0 ? direction : gradient.map((slope) => -slope);
}

function addScaled(target: Float64Array, factor: number, vector: Float64Array): void {
  for (let index = 0; index < target.length; index += 1) {
    target[index] = (target[index] as number) + factor * (vector[index] as number);
  }
}

function subtract(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, index) => value - (b[index] ?? 0));
}
