import { appendFile, readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Problem } from './problems/problem.ts';
import { runSearch } from './run-search.ts';
import type { createSamplers, SamplerName } from './samplers.ts';

/** The regret of one run after a number of trials. */
export type RegretRow = z.infer<typeof regretRowSchema>;

const regretRowSchema = z.object({
  problem: z.string(),
  sampler: z.string(),
  parallel: z.coerce.number(),
  seed: z.coerce.number(),
  trials: z.coerce.number(),
  /** Of the trial that reported the best objective. */
  reported: z.coerce.number(),
  /** Of the trial that `chooseBest` recommends. */
  recommended: z.coerce.number(),
  /** CPU time per suggestion, of the whole run. */
  ms: z.coerce.number(),
});

const COLUMNS = regretRowSchema.keyof().options;

export type Plan = {
  readonly problems: readonly Problem[];
  readonly samplers: readonly SamplerName[];
  readonly parallel: readonly number[];
  readonly seeds: readonly number[];
  readonly trials: number;
};

/** Runs one repetition of everything before the next: when it is interrupted, all samplers have had the same number. */
export async function* runPlan(plan: Plan, samplers: ReturnType<typeof createSamplers>): AsyncGenerator<RegretRow> {
  const { problems, parallel: parallels, seeds, trials } = plan;
  for (const seed of seeds) {
    for (const problem of problems) {
      for (const parallel of parallels) {
        for (const sampler of plan.samplers) {
          const options = { problem, seed, parallel };
          const { regrets, msPerSuggestion } = await runSearch(await samplers.start(sampler, options), {
            ...options,
            trials,
          });
          const run = { problem: problem.name, sampler, parallel, seed, ms: msPerSuggestion };
          yield* regrets.map((regret) => ({ ...run, ...regret }));
        }
      }
    }
  }
}

/** Appends a row to a CSV file, with six significant digits. */
export async function appendRow(path: string, row: RegretRow): Promise<void> {
  const cells = COLUMNS.map((column) => {
    const cell = row[column];
    return typeof cell === 'number' ? String(Number(cell.toPrecision(6))) : cell;
  });
  await appendFile(path, `${cells.join(',')}\n`);
}

/** Reads files without a header. */
export async function readRows(paths: readonly string[]): Promise<RegretRow[]> {
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split(',');
      return regretRowSchema.parse(Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index]])));
    });
}
