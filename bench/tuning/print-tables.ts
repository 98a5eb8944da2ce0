/**
 * Prints regrets that run-benchmark.ts has written, as Markdown: node bench/tuning/print-tables.ts CSV... A regret of 0
 * is the optimum, 1 the median of random trials.
 */
import { averageRanks, type Competitor, compareProblems, geometricMeans, mean } from './compare-regrets.ts';
import { type RegretRow, readRows } from './regret-row.ts';
import { MARKS } from './run-search.ts';

const TITLES: Readonly<Record<string, string>> = { tpe: 'TPE', gpsampler: 'GPSampler', halton: 'Halton' };

function competitorsIn(rows: readonly RegretRow[]): Competitor[] {
  const samplers = [...new Set(rows.map(({ sampler }) => sampler))].filter((sampler) => sampler !== 'dropforge');
  return [
    { title: 'Dropforge', sampler: 'dropforge', regret: 'recommended' },
    ...samplers.map((sampler) => ({ title: TITLES[sampler] ?? sampler, sampler, regret: 'reported' as const })),
  ];
}

function printTable(rows: readonly RegretRow[], competitors: readonly Competitor[], title: string): string[] {
  const comparisons = compareProblems(rows, competitors);
  if (comparisons.length === 0) {
    return [];
  }
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const body = comparisons.map(({ problem, runsCount, medians, means }) => {
    const best = Math.min(...medians);
    const cells = medians.map((regret, index) => {
      const text = `${regret.toFixed(4)} (${(means[index] ?? 0).toFixed(4)})`;
      return regret <= best ? `**${text}**` : text;
    });
    return line([problem, runsCount, ...cells]);
  });
  return [
    `### ${title}\n`,
    line(['problem', 'runs', ...competitors.map((one) => one.title)]),
    line(['---', '---', ...competitors.map(() => '---')]),
    ...body,
    line(['average rank', '', ...averageRanks(comparisons).map((rank) => rank.toFixed(2))]),
    line(['geometric mean', '', ...geometricMeans(comparisons).map((regret) => regret.toFixed(4))]),
    '',
  ];
}

const rows = await readRows(process.argv.slice(2));
const isSlow = ({ sampler }: RegretRow) => sampler === 'gpsampler';
const lines = [rows.filter((row) => !isSlow(row)), rows.some(isSlow) ? rows : []].flatMap((selected) =>
  [1, 5].flatMap((parallel) =>
    MARKS.flatMap((trials) => {
      const part = selected.filter((row) => row.parallel === parallel && row.trials === trials);
      const title = `${trials} trials, ${parallel} at a time: median (mean) regret`;
      return printTable(part, competitorsIn(selected), title);
    }),
  ),
);
const times = [...new Set(rows.map(({ sampler }) => sampler))].map((sampler) => {
  const ms = mean(rows.filter((row) => row.sampler === sampler).map((row) => row.ms));
  return `${sampler} ${ms.toFixed(1)} ms`;
});
process.stdout.write(`${lines.join('\n')}\nCPU time per suggestion, mean of all runs: ${times.join(', ')}\n`);
