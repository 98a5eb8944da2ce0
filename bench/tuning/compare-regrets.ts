import type { RegretRow } from './regret-row.ts';

/** What counts as a sampler's answer; they are compared under this name. */
export type Competitor = {
  readonly title: string;
  readonly sampler: string;
  readonly regret: 'reported' | 'recommended';
};

export type ProblemComparison = {
  readonly problem: string;
  readonly runsCount: number;
  /** In the order of the competitors. */
  readonly medians: readonly number[];
  readonly means: readonly number[];
  /** Average over the runs; ties share their ranks. */
  readonly ranks: readonly number[];
};

/** Regrets below this are equal in practice, and must not dominate geometric means. */
const REGRET_MIN = 1e-4;
const TIE = 1e-9;

/** Compares the runs that all competitors have in common; problems without such runs are left out. */
export function compareProblems(rows: readonly RegretRow[], competitors: readonly Competitor[]): ProblemComparison[] {
  const problems = [...new Set(rows.map(({ problem }) => problem))];
  return problems.flatMap((problem) => {
    const own = rows.filter((row) => row.problem === problem);
    const regrets = competitors.map(
      ({ sampler, regret }) =>
        new Map(own.filter((row) => row.sampler === sampler).map((row) => [row.seed, row[regret]] as const)),
    );
    const seeds = [...(regrets[0]?.keys() ?? [])].filter((seed) => regrets.every((map) => map.has(seed)));
    const runs = seeds.map((seed) => regrets.map((map) => map.get(seed) ?? 0));
    const columns = competitors.map((_, index) => runs.map((run) => run[index] ?? 0));
    const ranks = runs.map(ranksOf);
    return runs.length === 0
      ? []
      : [
          {
            problem,
            runsCount: runs.length,
            medians: columns.map(median),
            means: columns.map(mean),
            ranks: competitors.map((_, index) => mean(ranks.map((run) => run[index] ?? 0))),
          },
        ];
  });
}

function ranksOf(run: readonly number[]): number[] {
  return run.map((regret) => {
    const better = run.filter((other) => other < regret - TIE).length;
    const equal = run.filter((other) => Math.abs(other - regret) <= TIE).length;
    return better + (equal + 1) / 2;
  });
}

/** Averages over the problems. */
export function averageRanks(comparisons: readonly ProblemComparison[]): number[] {
  const [first] = comparisons;
  return (first?.ranks ?? []).map((_, index) => mean(comparisons.map(({ ranks }) => ranks[index] ?? 0)));
}

export function geometricMeans(comparisons: readonly ProblemComparison[]): number[] {
  const [first] = comparisons;
  return (first?.medians ?? []).map((_, index) =>
    Math.exp(mean(comparisons.map(({ medians }) => Math.log(Math.max(REGRET_MIN, medians[index] ?? 0))))),
  );
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
