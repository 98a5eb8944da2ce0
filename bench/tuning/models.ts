import type { Parameter } from '#shared/domain/study.ts';
import type { Values } from '#shared/tuning/trial.ts';
import { category, define, list, number, type Problem, real, whole } from './problem.ts';

/** Formulas that imitate the training of models: mixed types and scales, categories, conditional parameters. */
export function listModels(): Problem[] {
  return [
    define('mixed', { parameters: MIXED, truth: mixed, optimum: 0 }),
    define('categories', { parameters: CATEGORIES, truth: categories, optimum: 0 }),
    define('conditional', { parameters: CONDITIONAL, truth: conditional, optimum: 0 }),
    define('lists', { parameters: LISTS, truth: lists, optimum: 0 }),
    define('nested', { parameters: NESTED, truth: nested, optimum: 0 }),
    define('same_name', { parameters: SAME_NAME, truth: sameName, optimum: 0.03 }),
    define('noisy_mixed', { parameters: MIXED, truth: mixed, optimum: 0, noise: 0.1 }),
  ];
}

const log10 = (values: Values, id: string) => Math.log10(number(values, id));
const log2 = (values: Values, id: string) => Math.log2(number(values, id));

const MIXED: readonly Parameter[] = [
  real('rate', [1e-5, 1], 'LOG'),
  whole('layers', [1, 8]),
  whole('units', [16, 1_024], 'LOG'),
  category('activation', ['relu', 'tanh', 'gelu', 'elu']),
  real('momentum', [0.1, 0.999], 'REVERSE_LOG'),
];

const ACTIVATIONS: Readonly<Record<string, { readonly rate: number; readonly offset: number }>> = {
  relu: { rate: -2.5, offset: 0.08 },
  tanh: { rate: -2, offset: 0.25 },
  gelu: { rate: -3.2, offset: 0 },
  elu: { rate: -2.8, offset: 0.12 },
};

function mixed(values: Values): number {
  const { rate: bestRate, offset } = ACTIVATIONS[String(values.activation)] ?? { rate: 0, offset: 1 };
  const layers = number(values, 'layers') - 5;
  const rate = log10(values, 'rate') - bestRate + 0.15 * layers;
  const units = Math.log2(number(values, 'units') / 256) / 3;
  const closeness = Math.log10(1.099 - number(values, 'momentum')) - Math.log10(1.099 - 0.93);
  return offset + 0.3 * rate ** 2 + 0.03 * layers ** 2 + 0.3 * units ** 2 + 0.5 * closeness ** 2;
}

const CATEGORIES: readonly Parameter[] = [
  category('a', [...'ABC']),
  category('b', [...'ABCD']),
  category('c', [...'ABCDEF']),
  real('x0', [0, 1]),
  real('x1', [0, 1]),
];

/** Drawn at random, with a lowest value whose row and column are lower than the others. */
const CATEGORY_TABLE = [
  [
    [0.8245, 0.8271, 0.5638, 0.3572, 0.1485, 0.445],
    [0.4676, 0.1407, 0.1439, 0.9993, 0.6871, 0.3111],
    [0.4915, 0.9768, 0.9079, 0.8598, 0.2719, 0.5437],
    [0.709, 0.1547, 0.6, 0.3443, 0.8917, 0.1578],
  ],
  [
    [0.7113, 0.8831, 0.3046, 0.9059, 0.531, 0.1167],
    [0.7367, 0.1011, 0.553, 0.493, 0.1698, 0.3924],
    [0.8256, 0.3848, 0.2341, 0.7287, 0, 0.819],
    [0.312, 0.3878, 0.8199, 0.5564, 0.3334, 0.3126],
  ],
  [
    [0.1131, 0.9399, 0.1772, 0.8604, 0.4311, 0.9559],
    [0.4595, 0.9428, 0.6005, 0.3161, 0.7673, 0.706],
    [0.7158, 0.5174, 0.2997, 0.6768, 0.1178, 0.723],
    [0.6718, 0.4389, 0.8187, 0.2746, 0.4514, 0.8181],
  ],
];

function categories(values: Values): number {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => 'ABCDEF'.indexOf(String(values[id])));
  const base = CATEGORY_TABLE[a ?? 0]?.[b ?? 0]?.[c ?? 0] ?? 1;
  const [x, y] = [number(values, 'x0') - 0.2 - 0.2 * (a ?? 0), number(values, 'x1') - 0.1 - 0.15 * (b ?? 0)];
  return base + 2 * x ** 2 + y ** 2;
}

const CONDITIONAL: readonly Parameter[] = [
  category('model', ['svm', 'forest', 'mlp'], {
    svm: [real('c', [1e-3, 1e3], 'LOG'), real('gamma', [1e-4, 10], 'LOG')],
    forest: [whole('depth', [1, 20]), whole('trees', [10, 500], 'LOG')],
    mlp: [real('rate', [1e-5, 1], 'LOG'), whole('width', [8, 512], 'LOG'), real('decay', [1e-6, 1e-1], 'LOG')],
  }),
  real('share', [0, 1]),
];

function conditional(values: Values): number {
  const common = 0.3 * (number(values, 'share') - 0.7) ** 2;
  switch (values.model) {
    case 'svm': {
      const [c, gamma] = [log10(values, 'c'), log10(values, 'gamma')];
      return common + 0.06 + 0.02 * (c - 1.2) ** 2 + 0.03 * (gamma + 1.6 + 0.3 * c) ** 2;
    }
    case 'forest': {
      const depth = number(values, 'depth') - 12;
      return common + 0.1 + 0.001 * depth ** 2 + 0.05 * (log10(values, 'trees') - 2.3) ** 2;
    }
    default: {
      const [rate, width] = [log10(values, 'rate') + 2.7, log2(values, 'width') - 7];
      const decay = log10(values, 'decay') + 4;
      return common + 0.05 * rate ** 2 + 0.01 * width ** 2 + 0.01 * decay ** 2 + 0.02 * Math.abs(rate * width);
    }
  }
}

/** Irregular lists, and whole numbers on a log scale. */
const LISTS: readonly Parameter[] = [
  list('batch', [1, 2, 3, 5, 8, 64, 512, 1_000], 'LOG'),
  list('share', [0.1, 0.11, 0.13, 0.5, 0.9, 0.91]),
  list('power', [-3, -1, 0, 2, 10]),
  whole('steps', [1, 100_000], 'LOG'),
  real('average', [0.5, 0.9999], 'REVERSE_LOG'),
];

function lists(values: Values): number {
  const batch = log10(values, 'batch') - Math.log10(64);
  const steps = log10(values, 'steps') - 3.2 - 0.4 * batch;
  const power = Math.abs(number(values, 'power') - 2) / 5;
  const average = Math.log10(1.5 - number(values, 'average')) - Math.log10(1.5 - 0.97);
  return 0.1 * batch ** 2 + 0.08 * steps ** 2 + 0.3 * power + (number(values, 'share') - 0.5) ** 2 + 3 * average ** 2;
}

const NESTED: readonly Parameter[] = [
  category('family', ['linear', 'trees'], {
    linear: [
      category('penalty', ['l2', 'elastic'], { elastic: [real('ratio', [0, 1])] }),
      real('alpha', [1e-6, 10], 'LOG'),
    ],
    trees: [
      category('method', ['forest', 'boosting'], {
        forest: [real('features', [0.1, 1])],
        boosting: [
          real('rate', [1e-3, 1], 'LOG'),
          category('sampling', ['none', 'rows'], { rows: [real('rows', [0.2, 1])] }),
        ],
      }),
      whole('depth', [1, 16]),
    ],
  }),
];

function nested(values: Values): number {
  if (values.family === 'linear') {
    const ratio = values.penalty === 'elastic' ? 0.2 * (number(values, 'ratio') - 0.2) ** 2 : 0.04;
    return 0.15 + 0.01 * (log10(values, 'alpha') + 2) ** 2 + ratio;
  }
  const depth = number(values, 'depth');
  if (values.method === 'forest') {
    return 0.1 + 0.002 * (depth - 13) ** 2 + 0.2 * (number(values, 'features') - 0.4) ** 2;
  }
  const rate = 0.1 * (log10(values, 'rate') + 1.5 + 0.05 * (depth - 4)) ** 2;
  const rows = values.sampling === 'rows' ? 0.3 * (number(values, 'rows') - 0.65) ** 2 : 0.05;
  return 0.004 * (depth - 4) ** 2 + rate + rows;
}

/** Each optimizer has a `rate` of its own, with other bounds. */
const SAME_NAME: readonly Parameter[] = [
  category('optimizer', ['sgd', 'adam', 'lamb'], {
    sgd: [real('rate', [1e-3, 10], 'LOG'), real('momentum', [0, 0.99])],
    adam: [real('rate', [1e-6, 1e-1], 'LOG')],
    lamb: [real('rate', [1e-4, 1], 'LOG'), whole('warmup', [0, 1_000])],
  }),
  real('dropout', [0, 0.9]),
  whole('width', [16, 2_048], 'LOG'),
];

function sameName(values: Values): number {
  const width = 0.04 * (log2(values, 'width') - 8.6) ** 2;
  const common = width + 0.5 * (number(values, 'dropout') - 0.15) ** 2;
  const rate = log10(values, 'rate');
  switch (values.optimizer) {
    case 'sgd':
      return common + 0.03 + 0.1 * (rate + 1.1) ** 2 + 0.8 * (number(values, 'momentum') - 0.88) ** 2;
    case 'adam':
      return common + 0.08 + 0.1 * (rate + 3.3) ** 2;
    default:
      return common + 0.05 + 0.15 * (rate + 2) ** 2 + 0.2 * (number(values, 'warmup') / 1_000 - 0.7) ** 2;
  }
}
