import type { Values } from '#shared/tuning/trial.ts';
import { define, number, type Problem, reals, sum, vector, whole } from './problem.ts';

/** Test functions of global optimization, and variants: integers, noise, plateaus, outliers, regions that fail. */
export function listFunctions(): Problem[] {
  return [
    define('branin', { ...BRANIN, truth: branin }),
    define('camel', { parameters: CAMEL_PARAMETERS, truth: camel, optimum: -1.031628 }),
    define('hartmann3', { parameters: reals(3, [0, 1]), truth: hartmann3, optimum: -3.86278 }),
    define('hartmann6', { parameters: reals(6, [0, 1]), truth: hartmann6, optimum: -3.32237 }),
    define('ackley5', { parameters: reals(5, [-32.768, 32.768]), truth: ackley, optimum: 0 }),
    define('rosenbrock4', { parameters: reals(4, [-5, 10]), truth: rosenbrock, optimum: 0 }),
    define('levy5', { parameters: reals(5, [-10, 10]), truth: levy, optimum: 0 }),
    define('integers5', { parameters: INTEGERS, truth: integers, optimum: 0 }),
    define('noisy_hartmann3', { parameters: reals(3, [0, 1]), truth: hartmann3, optimum: -3.86278, noise: 0.2 }),
    define('noisy_branin', { ...BRANIN, truth: branin, noise: 5 }),
    define('plateau', { parameters: reals(4, [0, 1]), truth: plateau, optimum: 0 }),
    define('failing', { parameters: reals(4, [0, 1]), truth: failing, optimum: 0 }),
    define('mostly_failing', { parameters: reals(4, [0, 1]), truth: mostlyFailing, optimum: 0 }),
    define('failing_edges', { parameters: reals(2, [0, 1]), truth: failingEdges, optimum: 0 }),
    define('outliers', { parameters: reals(4, [-1, 1]), truth: bowl, optimum: 0.3, outlierShare: 1 / 8 }),
    define('michalewicz5', { parameters: reals(5, [0, Math.PI]), truth: michalewicz, optimum: -4.687658 }),
    define('rastrigin4', { parameters: reals(4, [-5.12, 5.12]), truth: rastrigin, optimum: 0 }),
    define('noisy_hartmann6', { parameters: reals(6, [0, 1]), truth: hartmann6, optimum: -3.32237, noise: 0.25 }),
  ];
}

function at(values: Values, index: number): number {
  return number(values, `x${index}`);
}

const BRANIN = { parameters: [...reals(1, [-5, 10]), ...reals(2, [0, 15]).slice(1)], optimum: 0.397887 };
const CAMEL_PARAMETERS = [...reals(1, [-3, 3]), ...reals(2, [-2, 2]).slice(1)];

function branin(values: Values): number {
  const [x, y] = [at(values, 0), at(values, 1)];
  const bend = y - (5.1 / (4 * Math.PI ** 2)) * x * x + (5 / Math.PI) * x - 6;
  return bend ** 2 + 10 * (1 - 1 / (8 * Math.PI)) * Math.cos(x) + 10;
}

function camel(values: Values): number {
  const [x, y] = [at(values, 0), at(values, 1)];
  return (4 - 2.1 * x * x + x ** 4 / 3) * x * x + x * y + (-4 + 4 * y * y) * y * y;
}

type Bumps = readonly {
  readonly weight: number;
  readonly widths: readonly number[];
  readonly center: readonly number[];
}[];

const HARTMANN3: Bumps = [
  { weight: 1, widths: [3, 10, 30], center: [0.3689, 0.117, 0.2673] },
  { weight: 1.2, widths: [0.1, 10, 35], center: [0.4699, 0.4387, 0.747] },
  { weight: 3, widths: [3, 10, 30], center: [0.1091, 0.8732, 0.5547] },
  { weight: 3.2, widths: [0.1, 10, 35], center: [0.0381, 0.5743, 0.8828] },
];

const HARTMANN6: Bumps = [
  { weight: 1, widths: [10, 3, 17, 3.5, 1.7, 8], center: [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886] },
  { weight: 1.2, widths: [0.05, 10, 17, 0.1, 8, 14], center: [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991] },
  { weight: 3, widths: [3, 3.5, 1.7, 10, 17, 8], center: [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.665] },
  { weight: 3.2, widths: [17, 8, 0.05, 10, 0.1, 14], center: [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381] },
];

function hartmann(bumps: Bumps, values: Values): number {
  return -sum(
    bumps.map(({ weight, widths, center }) => {
      const distance = sum(widths.map((width, index) => width * (at(values, index) - (center[index] ?? 0)) ** 2));
      return weight * Math.exp(-distance);
    }),
  );
}

const hartmann3 = (values: Values) => hartmann(HARTMANN3, values);
const hartmann6 = (values: Values) => hartmann(HARTMANN6, values);

/** The optimum is not in the middle, where many optimizers start. */
const ACKLEY_SHIFT = [6.1, -11.3, 14.7, -3.9, 9.2];

function ackley(values: Values): number {
  const z = ACKLEY_SHIFT.map((shift, index) => at(values, index) - shift);
  const radius = Math.sqrt(sum(z.map((value) => value * value)) / z.length);
  const waves = sum(z.map((value) => Math.cos(2 * Math.PI * value))) / z.length;
  return -20 * Math.exp(-0.2 * radius) - Math.exp(waves) + 20 + Math.E;
}

function rosenbrock(values: Values): number {
  const x = vector(values);
  return sum(x.slice(1).map((next, index) => 100 * (next - (x[index] ?? 0) ** 2) ** 2 + (1 - (x[index] ?? 0)) ** 2));
}

function levy(values: Values): number {
  const w = vector(values).map((value) => 1 + (value - 1) / 4);
  const [first = 0, last = 0] = [w[0], w.at(-1)];
  const middle = w.slice(0, -1).map((value) => (value - 1) ** 2 * (1 + 10 * Math.sin(Math.PI * value + 1) ** 2));
  return Math.sin(Math.PI * first) ** 2 + sum(middle) + (last - 1) ** 2 * (1 + Math.sin(2 * Math.PI * last) ** 2);
}

const INTEGERS = Array.from({ length: 5 }, (_, index) => whole(`x${index}`, [0, 20]));
const INTEGERS_CENTER = [4, 17, 9, 13, 6];
const INTEGERS_STRETCH = [1, 2, 4, 8, 16];
/** A rotation, drawn at random. */
const INTEGERS_TURN = [
  [-0.971192, -0.086605, 0.043919, -0.155401, 0.15234],
  [0.102594, -0.817587, 0.405665, 0.238481, 0.315578],
  [-0.107443, -0.034816, -0.641484, 0.725963, 0.220728],
  [0.185967, 0.013904, -0.330333, -0.500345, 0.778305],
  [-0.011544, 0.56802, 0.559362, 0.376312, 0.471936],
];

function integers(values: Values): number {
  const offsets = vector(values).map((value, index) => value - (INTEGERS_CENTER[index] ?? 0));
  const turned = INTEGERS_TURN.map((row) => sum(row.map((factor, index) => factor * (offsets[index] ?? 0))));
  return sum(turned.map((z, index) => (INTEGERS_STRETCH[index] ?? 0) * z * z)) / 100;
}

const PLATEAU_CENTER = [0.31, 0.72, 0.55, 0.18];

function plateau(values: Values): number {
  const distance = Math.hypot(...PLATEAU_CENTER.map((center, index) => at(values, index) - center));
  return Math.min(6, Math.floor(12 * distance));
}

const FAILING_CENTER = [0.62, 0.6, 0.2, 0.45];

function failing(values: Values): number | null {
  if (at(values, 0) + at(values, 1) > 1.25 || at(values, 2) < 0.15) {
    return null;
  }
  const distance = sum(FAILING_CENTER.map((center, index) => (at(values, index) - center) ** 2));
  return distance + 0.1 * (1 - Math.cos(6 * (at(values, 3) - 0.45)));
}

const MOSTLY_FAILING_CENTER = [0.72, 0.31, 0.66, 0.4];

/** 87 % of the space fail. */
function mostlyFailing(values: Values): number | null {
  const offsets = MOSTLY_FAILING_CENTER.map((center, index) => at(values, index) - center);
  return offsets.every((offset) => Math.abs(offset) < 0.3)
    ? sum(offsets.map((offset, index) => (1 + index) * (offset + 0.1) ** 2))
    : null;
}

/** 87 % of the space fail, edges and corners among them. */
function failingEdges(values: Values): number | null {
  const [x, y] = [at(values, 0), at(values, 1)];
  const hasFailed = Math.abs(x - 0.7) >= 0.18 || Math.abs(y - 0.7) >= 0.18;
  return hasFailed ? null : (x - 0.6) ** 2 + (y - 0.75) ** 2;
}

const BOWL_CENTER = [0.3, -0.45, 0.1, 0.62];

/** A loss in a curved valley that does not lead to 0. */
function bowl(values: Values): number {
  const offsets = BOWL_CENTER.map((center, index) => at(values, index) - center);
  const [a = 0, b = 0, c = 0, d = 0] = offsets;
  return 0.3 + a * a + 0.5 * (b + a * a) ** 2 + 0.3 * (c - b) ** 2 + 0.2 * d * d;
}

function michalewicz(values: Values): number {
  return -sum(vector(values).map((x, index) => Math.sin(x) * Math.sin(((index + 1) * x * x) / Math.PI) ** 20));
}

/** The optimum is not in the middle, where many optimizers start. */
const RASTRIGIN_SHIFT = [1.3, -2.4, 0.7, 3.1];

function rastrigin(values: Values): number {
  const z = RASTRIGIN_SHIFT.map((shift, index) => at(values, index) - shift);
  return sum(z.map((value) => value * value - 10 * Math.cos(2 * Math.PI * value) + 10));
}
