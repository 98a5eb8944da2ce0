import type { BenchRow } from './bench-row.ts';
import { median } from './median.ts';
import { listFunctions } from './tuning/functions.ts';
import { listModels } from './tuning/models.ts';
import { RECORDED_REGRETS, TPE_REGRETS } from './tuning/recorded-regrets.ts';
import { regretOf, type SearchOptions } from './tuning/run-search.ts';

const SEEDS = Array.from({ length: 20 }, (_, seed) => seed);
const TRIALS = 50;
/** Smaller regrets are equal in practice, and must not dominate geometric means. */
const REGRET_MIN = 1e-4;
/** A change of the optimizer moves single problems in both directions. */
const RECORDED_RATIO_MAX = 1.1;
/** The problems on which TPE or random trials have been ahead. */
const HARD = ['mostly_failing', 'failing_edges', 'outliers', 'michalewicz5', 'rastrigin4'];
const HARD_RATIO_MAX = 1.2;
const OTHERS_RATIO_MAX = 1 / 3;
const SUGGESTION_MS_MAX = 20;

type Result = { readonly name: string; readonly regret: number; readonly random: number };

/**
 * Compares the optimizer with random trials, with the recorded regrets of TPE and of itself, and with a limit on its
 * CPU time. Regrets are medians of 20 seeds, and reproducible: without a change of the optimizer they are the recorded
 * ones.
 */
export async function* benchTuning(): AsyncGenerator<BenchRow> {
  const problems = [...listFunctions(), ...listModels()];
  let cpuMs = 0;
  const results: Result[] = [];
  for (const problem of problems) {
    const regretWith = (algorithm: SearchOptions['algorithm']) =>
      median(SEEDS.map((seed) => regretOf(problem, { algorithm, seed, trials: TRIALS })));
    const random = regretWith('RANDOM');
    const start = process.cpuUsage();
    const regret = regretWith('BAYESIAN');
    const { user, system } = process.cpuUsage(start);
    cpuMs += (user + system) / 1_000;
    results.push({ name: problem.name, regret, random });
    yield {
      ...rowOf(`${problem.name}: median regret (floor: random trials)`, regret, random),
      goal: 'regret < 1',
      isMet: regret < random,
    };
  }
  yield* compareWithTpe(results);
  yield* compareAll(results);
  const msPerSuggestion = cpuMs / (problems.length * SEEDS.length * TRIALS);
  yield {
    name: 'CPU time of a suggestion, up to 50 trials',
    measured: `${msPerSuggestion.toFixed(1)} ms`,
    floor: `${SUGGESTION_MS_MAX} ms`,
    ratio: msPerSuggestion / SUGGESTION_MS_MAX,
    goal: 'time <= 1',
    isMet: msPerSuggestion <= SUGGESTION_MS_MAX,
  };
}

function compareWithTpe(results: readonly Result[]): readonly BenchRow[] {
  const hard = results.filter(({ name }) => HARD.includes(name));
  const others = results.filter(({ name }) => !HARD.includes(name));
  const rows = hard.map(({ name, regret }) => {
    const floor = TPE_REGRETS[name] ?? 0;
    const row = rowOf(`${name}: median regret (floor: TPE, recorded)`, regret, floor);
    return { ...row, goal: `regret <= ${HARD_RATIO_MAX}`, isMet: regret <= floor * HARD_RATIO_MAX };
  });
  const own = geometricMean(others.map(({ regret }) => regret));
  const floor = geometricMean(others.map(({ name }) => TPE_REGRETS[name] ?? 0));
  const title = `${others.length} other problems: geometric mean of regrets (floor: TPE, recorded)`;
  return [...rows, { ...rowOf(title, own, floor), goal: 'regret <= 1/3', isMet: own <= floor * OTHERS_RATIO_MAX }];
}

function compareAll(results: readonly Result[]): readonly BenchRow[] {
  const own = geometricMean(results.map(({ regret }) => regret));
  const random = geometricMean(results.map((result) => result.random));
  const recorded = geometricMean(results.map(({ name }) => RECORDED_REGRETS[name] ?? 0));
  const title = `${results.length} problems after ${TRIALS} trials: geometric mean of regrets`;
  return [
    { ...rowOf(`${title} (floor: random trials)`, own, random), goal: 'regret < 0.1', isMet: own < random / 10 },
    {
      ...rowOf(`${title} (floor: recorded)`, own, recorded),
      goal: `regret <= ${RECORDED_RATIO_MAX}`,
      isMet: own <= recorded * RECORDED_RATIO_MAX,
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
