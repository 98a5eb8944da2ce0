import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Values } from '#shared/tuning/trial.ts';
import { category, define, list, number, type Problem, real, whole } from './problem.ts';

/** Results of real training, which make_tables.py has computed. */
export function listTables(): Problem[] {
  return [svmDigits(), boostingCancer(), mlpDigits(), lightgbmDiabetes(), torchDigits()];
}

const numbers = z.array(z.number());

function readTable<T>(name: string, schema: z.ZodType<T>): T {
  return schema.parse(JSON.parse(readFileSync(join(import.meta.dirname, '..', 'data', `${name}.json`), 'utf8')));
}

const lowest = (values: readonly unknown[]) =>
  (values.flat(9) as number[]).reduce((low, value) => Math.min(low, value));

/** Interpolated between the trained models, it is a continuous problem. */
function svmDigits(): Problem {
  const schema = z.object({ log10C: numbers, log10gamma: numbers, error: z.array(numbers) });
  const { log10C, log10gamma, error } = readTable('svm-digits', schema);
  const bounds = (axis: readonly number[]) => [10 ** (axis[0] ?? 0), 10 ** (axis.at(-1) ?? 0)] as const;
  const locate = (axis: readonly number[], value: number) => {
    const [start = 0, next = 1] = axis;
    const position = Math.min(axis.length - 1, Math.max(0, (Math.log10(value) - start) / (next - start)));
    const index = Math.min(axis.length - 2, Math.floor(position));
    return { index, share: position - index };
  };
  return define('svm_digits', {
    parameters: [real('c', bounds(log10C), 'LOG'), real('gamma', bounds(log10gamma), 'LOG')],
    truth(values) {
      const row = locate(log10C, number(values, 'c'));
      const column = locate(log10gamma, number(values, 'gamma'));
      const along = (index: number) => {
        const [low = 1, high = 1] = (error[index] ?? []).slice(column.index, column.index + 2);
        return low * (1 - column.share) + high * column.share;
      };
      return (1 - row.share) * along(row.index) + row.share * along(row.index + 1);
    },
    optimum: lowest(error),
  });
}

function boostingCancer(): Problem {
  const loss = z.array(z.array(z.array(numbers)));
  const schema = z.object({ rates: numbers, depths: numbers, subsamples: numbers, loss });
  const table = readTable('boosting-cancer', schema);
  return define('boosting_cancer', {
    parameters: [
      list('rate', table.rates, 'LOG'),
      list('depth', table.depths),
      list('subsample', table.subsamples),
      whole('trees', [1, table.loss[0]?.[0]?.[0]?.length ?? 1]),
    ],
    truth(values) {
      const [rate, depth] = [indexIn(table.rates, values, 'rate'), indexIn(table.depths, values, 'depth')];
      const curve = table.loss[rate]?.[depth]?.[indexIn(table.subsamples, values, 'subsample')];
      return curve?.[number(values, 'trees') - 1] ?? null;
    },
    optimum: lowest(table.loss),
  });
}

function mlpDigits(): Problem {
  const error = z.array(z.array(z.array(z.array(z.array(numbers)))));
  const lists = { rates: numbers, momenta: numbers, hidden: numbers, batches: numbers };
  const table = readTable('mlp-digits', z.object({ ...lists, activations: z.array(z.string()), error }));
  const last = (values: readonly number[] | undefined) => values?.at(-1) ?? 1;
  return define('mlp_digits', {
    parameters: [
      list('rate', table.rates, 'LOG'),
      list('momentum', table.momenta),
      list('hidden', table.hidden, 'LOG'),
      list('batch', table.batches, 'LOG'),
      category('activation', table.activations),
    ],
    truth(values) {
      const byHidden = table.error[indexIn(table.rates, values, 'rate')]?.[indexIn(table.momenta, values, 'momentum')];
      const byBatch = byHidden?.[indexIn(table.hidden, values, 'hidden')];
      const byActivation = byBatch?.[indexIn(table.batches, values, 'batch')];
      return last(byActivation?.[table.activations.indexOf(String(values.activation))]);
    },
    optimum: lowest(table.error.flat(4).map(last)),
  });
}

function lightgbmDiabetes(): Problem {
  const lists = { rate: numbers, leaves: numbers, minimum: numbers, fraction: numbers, rounds: numbers };
  const error = z.array(z.array(z.array(z.array(numbers))));
  const table = readTable('lightgbm-diabetes', z.object({ ...lists, error }));
  return define('lightgbm_diabetes', {
    parameters: [
      list('rate', table.rate, 'LOG'),
      list('leaves', table.leaves, 'LOG'),
      list('minimum', table.minimum, 'LOG'),
      list('fraction', table.fraction),
      list('rounds', table.rounds),
    ],
    truth(values) {
      const byMinimum = table.error[indexIn(table.rate, values, 'rate')]?.[indexIn(table.leaves, values, 'leaves')];
      const byRounds =
        byMinimum?.[indexIn(table.minimum, values, 'minimum')]?.[indexIn(table.fraction, values, 'fraction')];
      return byRounds?.[indexIn(table.rounds, values, 'rounds')] ?? null;
    },
    optimum: lowest(table.error),
  });
}

/** Noisy: a trial reports the loss of one of the seeds that the table has; the truth is their mean. */
function torchDigits(): Problem {
  const loss = z.array(z.array(z.array(z.array(numbers))));
  const part = z.object({ rate: numbers, extra: numbers, loss });
  const { hidden, dropout, sgd, adam } = readTable(
    'torch-digits',
    z.object({ hidden: numbers, dropout: numbers, sgd: part, adam: part }),
  );
  const lossesOf = (values: Values) => {
    const [table, extra] = values.optimizer === 'sgd' ? [sgd, 'momentum'] : [adam, 'decay'];
    const byHidden = table.loss[indexIn(table.rate, values, 'rate')]?.[indexIn(table.extra, values, extra)];
    return byHidden?.[indexIn(hidden, values, 'hidden')]?.[indexIn(dropout, values, 'dropout')] ?? [];
  };
  const mean = (losses: readonly number[]) => losses.reduce((total, loss) => total + loss, 0) / losses.length;
  const parameters = [
    category('optimizer', ['sgd', 'adam'], {
      sgd: [list('rate', sgd.rate, 'LOG'), list('momentum', sgd.extra)],
      adam: [list('rate', adam.rate, 'LOG'), list('decay', adam.extra, 'LOG')],
    }),
    list('hidden', hidden, 'LOG'),
    list('dropout', dropout),
  ];
  const optimum = lowest([...sgd.loss.flat(3), ...adam.loss.flat(3)].map(mean));
  return {
    ...define('torch_digits', { parameters, truth: (values) => mean(lossesOf(values)), optimum }),
    report: (values, random) => {
      const losses = lossesOf(values);
      return losses[Math.floor(random() * losses.length)] ?? null;
    },
  };
}

function indexIn(list: readonly number[], values: Values, id: string): number {
  return list.indexOf(number(values, id));
}
