/**
 * Prints regrets that run-benchmark.ts has written, as Markdown: npm run --silent bench:regrets -- CSV... Samplers that
 * have fewer runs than the others are compared in tables of their own, over the runs that all have.
 */
import { averageRanks, type Competitor, compareProblems, geometricMeans, mean } from './compare-regrets.ts';
import { type RegretRow, readRows } from './regret-row.ts';
import { MARKS } from './run-search.ts';

const TITLES: Readonly<Record<string, string>> = { random: 'random', tpe: 'TPE', gpsampler: 'GPSampler' };

const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;

/** Dropforge answers with the trial that it recommends, the others with the one that reported the best objective. */
function competitorsIn(rows: readonly RegretRow[]): Competitor[] {
  const others = [...new Set(rows.map(({ sampler }) => sampler))].filter((sampler) => sampler !== 'dropforge');
  return [
    { title: 'Dropforge', sampler: 'dropforge', regret: 'recommended' },
    ...others.map((sampler) => ({ title: TITLES[sampler] ?? sampler, sampler, regret: 'reported' as const })),
  ];
}

type Comparison = ReturnType<typeof compareAll>[number];

function compareAll(rows: readonly RegretRow[]) {
  const competitors = competitorsIn(rows);
  return [1, 5].flatMap((parallel) =>
    MARKS.flatMap((trials) => {
      const problems = compareProblems(
        rows.filter((row) => row.parallel === parallel && row.trials === trials),
        competitors,
      );
      return problems.length === 0 ? [] : [{ title: `${trials} trials, ${parallel} at a time`, competitors, problems }];
    }),
  );
}

function printSummary(comparisons: readonly Comparison[]): string[] {
  const [first] = comparisons;
  const titles = (first?.competitors ?? []).map(({ title }) => title);
  const rows = comparisons.map(({ title, problems }) => {
    const runs = [...new Set(problems.map(({ runsCount }) => runsCount))].sort((a, b) => a - b);
    const means = geometricMeans(problems);
    const ranks = averageRanks(problems).map((rank, index) => `${rank.toFixed(2)} (${(means[index] ?? 0).toFixed(4)})`);
    return line([title, problems.length, runs.join(' to '), ...ranks]);
  });
  const header = ['average rank (geometric mean)', 'problems', 'runs of each', ...titles];
  return [line(header), line(header.map(() => '---')), ...rows, ''];
}

function printProblems({ title, competitors, problems }: Comparison): string[] {
  const header = ['problem', ...competitors.map((one) => one.title)];
  const rows = problems.map(({ problem, medians, means }) => {
    const best = Math.min(...medians);
    const cells = medians.map((regret, index) => {
      const text = `${regret.toFixed(4)} (${(means[index] ?? 0).toFixed(4)})`;
      return regret <= best ? `**${text}**` : text;
    });
    return line([problem, ...cells]);
  });
  return [`### ${title}: median (mean) regret\n`, line(header), line(header.map(() => '---')), ...rows, ''];
}

const rows = await readRows(process.argv.slice(2));
const isSlow = ({ sampler }: RegretRow) => sampler === 'gpsampler';
const usual = compareAll(rows.filter((row) => !isSlow(row)));
const slow = rows.some(isSlow) ? compareAll(rows) : [];
const times = [...new Set(rows.map(({ sampler }) => sampler))].map((sampler) => {
  const ms = mean(rows.filter((row) => row.sampler === sampler).map((row) => row.ms));
  return `${sampler} ${ms.toFixed(1)} ms`;
});
const lines = [
  ...printSummary(usual),
  ...(slow.length > 0 ? printSummary(slow) : []),
  `CPU time per suggestion, mean of all runs: ${times.join(', ')}.\n`,
  ...usual.flatMap(printProblems),
];
process.stdout.write(`${lines.join('\n')}`);
