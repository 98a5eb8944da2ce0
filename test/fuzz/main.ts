import { inspect } from 'node:util';
import { Command, Option } from 'commander';
import fc from 'fast-check';
import { anyArchive, type NamedArchive } from './any-archive.ts';
import { type ArchiveVerdict, createArchiveCheck } from './check-archive.ts';
import { checkFile, type Outcome } from './check-file.ts';
import { anyJobFile } from './job-file-arbitrary.ts';

/** The longest time that a function may spend on one job file or archive; the slowest of the run is printed. */
const INPUT_MS_MAX = 2_000;

function parseCount(text: string): number {
  return Math.max(1, Math.floor(Number(text)));
}

type Run = { readonly runs: number; readonly seed: number };

/** Checks random inputs until one fails or the runs are over. `check` classifies an input, or throws. */
async function fuzz<Input, Class extends string>(
  what: string,
  inputs: fc.Arbitrary<Input>,
  { runs, seed, check }: Run & { readonly check: (input: Input) => Class | Promise<Class> },
): Promise<void> {
  const counts = new Map<Class, number>();
  let slowestMs = 0;
  const result = await fc.check(
    fc.asyncProperty(inputs, async (input) => {
      const startedAt = performance.now();
      const found = await check(input);
      counts.set(found, (counts.get(found) ?? 0) + 1);
      const tookMs = performance.now() - startedAt;
      slowestMs = Math.max(slowestMs, tookMs);
      if (tookMs > INPUT_MS_MAX) {
        throw new Error(`It took ${Math.round(tookMs)} ms.`);
      }
    }),
    { numRuns: runs, seed },
  );
  const counted = [...counts].map(([name, count]) => `${count} ${name}`);
  process.stdout.write(`${what}, seed ${seed}: ${counted.join(', ')}; the slowest took ${slowestMs.toFixed(0)} ms.\n`);
  if (result.failed) {
    process.stdout.write(`${fc.defaultReportMessage(result)}\n${inspect(result.errorInstance)}\n`);
    process.exitCode = 1;
  }
}

await new Command('fuzz')
  .description(
    'Reads and validates random job files, and compares what intake and agent see in random archives, until one fails or the runs are over.',
  )
  .addOption(new Option('--runs <COUNT>', 'how many of each').argParser(parseCount).default(100_000))
  .addOption(new Option('--seed <SEED>', 'replays a run').argParser(Number))
  .action(async ({ runs, seed = Date.now() % 2 ** 31 }: { readonly runs: number; readonly seed?: number }) => {
    await fuzz<string | Uint8Array, Outcome>('Job files', anyJobFile, { runs, seed, check: checkFile });
    const archives = await createArchiveCheck();
    await fuzz<NamedArchive, ArchiveVerdict>('Archives', anyArchive, { runs, seed, check: archives.check });
    await archives.close();
  })
  .parseAsync();
