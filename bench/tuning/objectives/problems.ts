import type { Parameter } from '#shared/domain/study.ts';
import type { Costs } from '#shared/tuning/pareto.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { category, list, number, real, reals, sum, vector, whole } from '../problems/problem.ts';

/** A program with several objectives, all of which are minimized, whose front is known. */
export type MultiProblem = {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  costs(values: Values): Costs;
  /** Bounds the hypervolume. */
  readonly reference: Costs;
  /** Points of the front, from which the hypervolume of all of it follows. */
  readonly front: readonly Costs[];
};

const FRONT_POINTS = 400;

function frontOf(shape: (share: number) => Costs): readonly Costs[] {
  return Array.from({ length: FRONT_POINTS }, (_, index) => shape(index / (FRONT_POINTS - 1)));
}

/** Zitzler, Deb and Thiele, "Comparison of Multiobjective Evolutionary Algorithms", 2000. */
function zdt(name: string, count: number, shape: (first: number, ratio: number) => number): MultiProblem {
  return {
    name,
    parameters: reals(count, [0, 1]),
    costs(values) {
      const [first = 0, ...others] = vector(values);
      const factor = 1 + (9 * sum(others)) / others.length;
      return [first, factor * shape(first, first / factor)];
    },
    reference: [1.1, 6],
    front: frontOf((share) => [share, shape(share, share)]),
  };
}

/** Binh and Korn's without its constraints, Schaffer's first, Fonseca and Fleming's. */
const CLASSICS: readonly MultiProblem[] = [
  {
    name: 'schaffer',
    parameters: [real('x', [-10, 10])],
    costs: (values) => [number(values, 'x') ** 2, (number(values, 'x') - 2) ** 2],
    reference: [20, 20],
    front: frontOf((share) => [(2 * share) ** 2, (2 * share - 2) ** 2]),
  },
  {
    name: 'fonseca',
    parameters: reals(3, [-4, 4]),
    costs: (values) => fonseca(vector(values)),
    reference: [1, 1],
    front: frontOf((share) => fonseca(Array(3).fill(((2 * share - 1) * 1) / Math.sqrt(3)))),
  },
];

function fonseca(x: readonly number[]): Costs {
  const offset = 1 / Math.sqrt(x.length);
  return [
    1 - Math.exp(-sum(x.map((one) => (one - offset) ** 2))),
    1 - Math.exp(-sum(x.map((one) => (one + offset) ** 2))),
  ];
}

/** Deb, Thiele, Laumanns and Zitzler's second, with three objectives. */
const DTLZ2: MultiProblem = {
  name: 'dtlz2',
  parameters: reals(5, [0, 1]),
  costs(values) {
    const [a = 0, b = 0, ...others] = vector(values);
    const radius = 1 + sum(others.map((one) => (one - 0.5) ** 2));
    return sphere(a, b).map((cost) => radius * cost);
  },
  reference: [1.5, 1.5, 1.5],
  front: Array.from({ length: 30 }, (_, row) =>
    Array.from({ length: 30 }, (__, column) => sphere(row / 29, column / 29)),
  ).flat(),
};

function sphere(a: number, b: number): Costs {
  const [first, second] = [(a * Math.PI) / 2, (b * Math.PI) / 2];
  return [Math.cos(first) * Math.cos(second), Math.cos(first) * Math.sin(second), Math.sin(first)];
}

/** Error and size of a network in the form of learning curves: categories, integers and logarithmic scales. */
const NETWORK: MultiProblem = {
  name: 'network',
  parameters: [
    real('lr', [1e-5, 1], 'LOG'),
    whole('width', [8, 512], 'LOG'),
    list('depth', [1, 2, 3, 4]),
    category('activation', ['relu', 'tanh', 'sigmoid']),
  ],
  costs: network,
  reference: [1, 8],
  front: [8, 16, 32, 64, 128, 256, 512].flatMap((width) =>
    [1, 2, 3, 4].map((depth) => network({ lr: 1e-2, width, depth, activation: 'relu' })),
  ),
};

function network(values: Values): Costs {
  const [width, depth] = [number(values, 'width'), number(values, 'depth')];
  const rate = (Math.log10(number(values, 'lr')) + 2) ** 2 / 20;
  const kind = { relu: 0, tanh: 0.02, sigmoid: 0.1 }[String(values.activation)] ?? 0;
  const parameters = Math.log10(depth * width ** 2);
  return [Math.min(1, 0.5 * 10 ** (-parameters / 6) + rate + kind), parameters];
}

export const MULTI_PROBLEMS: readonly MultiProblem[] = [
  zdt('zdt1', 6, (_, ratio) => 1 - Math.sqrt(ratio)),
  zdt('zdt2', 6, (_, ratio) => 1 - ratio ** 2),
  zdt('zdt3', 6, (first, ratio) => 1 - Math.sqrt(ratio) - ratio * Math.sin(10 * Math.PI * first)),
  ...CLASSICS,
  DTLZ2,
  NETWORK,
];
