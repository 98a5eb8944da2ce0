import { inspect } from 'node:util';
import { Command, Option } from 'commander';
import fc from 'fast-check';
import { checkFile, type Outcome } from './check-file.ts';
import { anyJobFile } from './job-file-arbitrary.ts';

/** The longest time that a function may spend on one job file; the slowest of the run is printed. */
const FILE_MS_MAX = 2_000;

function parseCount(text: string): number {
  return Math.max(1, Math.floor(Number(text)));
}

await new Command('fuzz')
  .description('Reads, validates and prints random job files until one fails or the runs are over.')
  .addOption(new Option('--runs <COUNT>', 'how many files').argParser(parseCount).default(100_000))
  .addOption(new Option('--seed <SEED>', 'replays a run').argParser(Number))
  .action(({ runs, seed = Date.now() % 2 ** 31 }: { readonly runs: number; readonly seed?: number }) => {
    const outcomes: Record<Outcome, number> = { 'no job': 0, rejected: 0, accepted: 0 };
    let slowestMs = 0;
    const result = fc.check(
      fc.property(anyJobFile, (source) => {
        const startedAt = performance.now();
        outcomes[checkFile(source)] += 1;
        const tookMs = performance.now() - startedAt;
        slowestMs = Math.max(slowestMs, tookMs);
        if (tookMs > FILE_MS_MAX) {
          throw new Error(`The file took ${Math.round(tookMs)} ms.`);
        }
      }),
      { numRuns: runs, seed },
    );
    const counted = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
    process.stdout.write(`Seed ${seed}: ${counted.join(', ')}; the slowest took ${slowestMs.toFixed(0)} ms.\n`);
    if (result.failed) {
      process.stdout.write(`${fc.defaultReportMessage(result)}\n${inspect(result.errorInstance)}\n`);
      process.exitCode = 1;
    }
  })
  .parseAsync();
