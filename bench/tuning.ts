import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { BenchRow } from './bench-row.ts';
import { averageRanks, type Competitor, compareProblems, type ProblemComparison } from './tuning/compare-regrets.ts';
import { MULTI_PROBLEMS } from './tuning/objectives/problems.ts';
import { runFront } from './tuning/objectives/run-front.ts';
import { listProblems } from './tuning/problems/list-problems.ts';
import { type RegretRow, runPlan } from './tuning/regret-row.ts';
import { createSamplers, type SamplerName } from './tuning/samplers.ts';

const MIB = 1_024 ** 2;
/** By number of trials. */
const SUGGESTION_MS_MAX: ReadonlyMap<number, number> = new Map([
  [10, 150],
  [50, 150],
  [200, 150],
  [1_000, 300],
]);
const MEMORY_BYTES_MAX = 150 * MIB;
const COST_PROBLEM = 'mixed';

/**
 * Measures suggestions and compares their results with random trials, in about a minute. DROPFORGE_BENCH_TUNING=full
 * takes 20 repetitions of 100 trials, one and five at a time, which takes hours, and adds Optuna's TPE if TUNING_PYTHON
 * is an interpreter that has it.
 */
export async function benchTuning(environment: NodeJS.ProcessEnv): Promise<BenchRow[]> {
  return [...(await measureCosts()), ...compareFronts(environment), ...(await compareSamplers(environment))];
}

const costSchema = z.object({ milliseconds: z.array(z.number()), memoryBytes: z.number() });

async function measureCosts(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [trials, limit] of SUGGESTION_MS_MAX) {
    const script = new URL('tuning/suggestion-cost.ts', import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [script, COST_PROBLEM, String(trials)]);
    const { milliseconds, memoryBytes } = costSchema.parse(JSON.parse(stdout));
    const [first = 0, ...later] = milliseconds;
    const slowest = Math.max(...later);
    const after = `after ${trials.toLocaleString('en')} trials`;
    rows.push(
      limitRow(`suggestion ${after}: CPU time (first in its process: ${first.toFixed(0)} ms)`, {
        measured: slowest,
        limit,
        goal: 'time <= 1',
        show: (ms) => `${ms.toFixed(0)} ms`,
      }),
      limitRow(`suggestion ${after}: peak memory`, {
        measured: memoryBytes,
        limit: MEMORY_BYTES_MAX,
        goal: 'memory <= 1',
        show: (bytes) => `${(bytes / MIB).toFixed(0)} MiB`,
      }),
    );
  }
  return rows;
}

type Measurement = {
  readonly measured: number;
  readonly limit: number;
  readonly goal: string;
  readonly show: (value: number) => string;
};

function limitRow(name: string, { measured, limit, goal, show }: Measurement): BenchRow {
  const ratio = measured / limit;
  return { name, measured: show(measured), floor: show(limit), ratio, goal, isMet: ratio <= 1 };
}

async function compareSamplers(environment: NodeJS.ProcessEnv): Promise<BenchRow[]> {
  const isFull = environment.DROPFORGE_BENCH_TUNING === 'full';
  const python = environment.TUNING_PYTHON;
  const others: SamplerName[] = ['random', 'halton', ...(isFull && python !== undefined ? ['tpe' as const] : [])];
  const samplers = createSamplers(isFull ? python : undefined);
  const rows: RegretRow[] = [];
  const plan = {
    problems: listProblems(),
    samplers: ['dropforge' as const, ...others],
    parallel: isFull ? [1, 5] : [1],
    seeds: Array.from({ length: isFull ? 20 : 3 }, (_, seed) => seed),
    trials: isFull ? 100 : 50,
  };
  for await (const row of runPlan(plan, samplers)) {
    rows.push(row);
  }
  await samplers.stop();
  const competitors: Competitor[] = [
    { title: 'Dropforge', sampler: 'dropforge', regret: 'recommended' },
    ...others.map((sampler) => ({ title: sampler, sampler, regret: 'reported' as const })),
  ];
  return plan.parallel.flatMap((parallel) =>
    [20, 50, ...(isFull ? [100] : [])].flatMap((trials) => {
      const part = rows.filter((row) => row.parallel === parallel && row.trials === trials);
      const title = `${trials} trials, ${parallel} at a time`;
      const comparisons = compareProblems(part, competitors);
      return [rankRow(title, comparisons, competitors), ...(trials < 50 ? [] : [worseRow(title, comparisons)])];
    }),
  );
}

function rankRow(
  title: string,
  comparisons: readonly ProblemComparison[],
  competitors: readonly Competitor[],
): BenchRow {
  const [own = 0, ...others] = averageRanks(comparisons);
  const best = Math.min(...others);
  const next = competitors[others.indexOf(best) + 1]?.title ?? '';
  return {
    name: `${title}: average rank (floor: the best other, ${next})`,
    measured: own.toFixed(2),
    floor: best.toFixed(2),
    ratio: own / best,
    goal: 'rank < 1',
    isMet: own < best,
  };
}

/** With several objectives: the found share of the known front's hypervolume, against random trials. */
function compareFronts(environment: NodeJS.ProcessEnv): BenchRow[] {
  const isFull = environment.DROPFORGE_BENCH_TUNING === 'full';
  const seeds = Array.from({ length: isFull ? 20 : 3 }, (_, seed) => seed);
  return MULTI_PROBLEMS.flatMap((problem) =>
    (isFull ? [1, 5] : [1]).map((parallel) => {
      const [own = 0, random = 0] = (['BAYESIAN', 'RANDOM'] as const).map((algorithm) => {
        const shares = seeds.map((seed) => runFront(problem, { algorithm, seed, parallel, trials: 50 }).share);
        return shares.reduce((sum, share) => sum + share, 0) / shares.length;
      });
      return {
        name: `${problem.name}, 50 trials, ${parallel} at a time: hypervolume found (floor: random trials)`,
        measured: own.toFixed(3),
        floor: random.toFixed(3),
        ratio: own / random,
        goal: 'hypervolume > 1',
        isMet: own > random,
      };
    }),
  );
}

/** The second competitor is the random search. */
function worseRow(title: string, comparisons: readonly ProblemComparison[]): BenchRow {
  const worse = comparisons.filter(({ means }) => (means[0] ?? 0) > (means[1] ?? 0)).map(({ problem }) => problem);
  const names = worse.length === 0 ? '' : ` (${worse.join(', ')})`;
  return {
    name: `${title}: problems on which the mean regret is higher than that of random trials${names}`,
    measured: String(worse.length),
    floor: String(comparisons.length),
    ratio: worse.length / comparisons.length,
    goal: 'problems <= 0',
    isMet: worse.length === 0,
  };
}
