import type { BenchRow } from './bench-row.ts';
import { listFunctions } from './tuning/functions.ts';
import { listModels } from './tuning/models.ts';
import { RECORDED_REGRETS } from './tuning/recorded-regrets.ts';
import { regretOf, type SearchOptions } from './tuning/run-search.ts';

const SEEDS = [0, 1, 2, 3, 4];
const TRIALS = 50;
/** Smaller regrets are equal in practice, and must not dominate geometric means. */
const REGRET_MIN = 1e-4;
/** A change of the optimizer moves single problems in both directions. */
const RECORDED_RATIO_MAX = 1.1;
const SUGGESTION_MS_MAX = 20;

/**
 * Compares the optimizer on 20 problems with random trials, with its own recorded regrets and with a limit on its CPU
 * time. The regrets are reproducible: without a change of the optimizer they are the recorded ones.
 */
export async function* benchTuning(): AsyncGenerator<BenchRow> {
  const problems = [...listFunctions(), ...listModels()];
  let cpuMs = 0;
  const results: { readonly name: string; readonly regret: number; readonly random: number }[] = [];
  for (const problem of problems) {
    const mean = (algorithm: SearchOptions['algorithm']) =>
      SEEDS.reduce((sum, seed) => sum + regretOf(problem, { algorithm, seed, trials: TRIALS }), 0) / SEEDS.length;
    const random = mean('RANDOM');
    const start = process.cpuUsage();
    const regret = mean('BAYESIAN');
    const { user, system } = process.cpuUsage(start);
    cpuMs += (user + system) / 1_000;
    results.push({ name: problem.name, regret, random });
    yield {
      ...rowOf(`${problem.name}: mean regret (floor: random trials)`, regret, random),
      goal: 'regret < 1',
      isMet: regret < random,
    };
  }
  const own = geometricMean(results.map(({ regret }) => regret));
  const random = geometricMean(results.map((result) => result.random));
  const recorded = geometricMean(results.map(({ name }) => RECORDED_REGRETS[name] ?? 0));
  const msPerSuggestion = cpuMs / (problems.length * SEEDS.length * TRIALS);
  const title = `${problems.length} problems after ${TRIALS} trials: geometric mean of regrets`;
  yield* [
    { ...rowOf(`${title} (floor: random trials)`, own, random), goal: 'regret < 0.1', isMet: own < random / 10 },
    {
      ...rowOf(`${title} (floor: recorded)`, own, recorded),
      goal: `regret <= ${RECORDED_RATIO_MAX}`,
      isMet: own <= recorded * RECORDED_RATIO_MAX,
    },
    {
      name: 'CPU time of a suggestion, up to 50 trials',
      measured: `${msPerSuggestion.toFixed(1)} ms`,
      floor: `${SUGGESTION_MS_MAX} ms`,
      ratio: msPerSuggestion / SUGGESTION_MS_MAX,
      goal: 'time <= 1',
      isMet: msPerSuggestion <= SUGGESTION_MS_MAX,
    },
  ];
}

function rowOf(name: string, measured: number, floor: number) {
  return { name, measured: measured.toPrecision(3), floor: floor.toPrecision(3), ratio: measured / floor };
}

function geometricMean(regrets: readonly number[]): number {
  const logarithms = regrets.map((regret) => Math.log(Math.max(REGRET_MIN, regret)));
  return Math.exp(logarithms.reduce((sum, logarithm) => sum + logarithm, 0) / regrets.length);
}
