/** Runs samplers on the problems and appends their regrets to a CSV file: npm run bench:samplers -- FILE --help */
import { Command, Option } from 'commander';
import { listProblems } from './problems/list-problems.ts';
import { appendRow, runPlan } from './regret-row.ts';
import { createSamplers, SAMPLER_NAMES, type SamplerName } from './samplers.ts';

type Options = {
  readonly samplers: readonly SamplerName[];
  readonly problems: readonly string[] | undefined;
  readonly parallel: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly trials: string;
};

await new Command('run-benchmark')
  .argument('<csv>', 'file to append to')
  .addOption(new Option('--samplers <names...>').choices(SAMPLER_NAMES).default(['dropforge', 'random']))
  .option('--problems <names...>', 'default: all')
  .option('--parallel <counts...>', 'trials at a time', ['1'])
  .option('--from <seed>', 'first repetition', '0')
  .option('--to <seed>', 'repetition to end before', '20')
  .option('--trials <count>', 'per run', '100')
  .action(async (csv: string, { samplers: names, problems, parallel, from, to, trials }: Options) => {
    const samplers = createSamplers(process.env.TUNING_PYTHON);
    const first = Number(from);
    const plan = {
      problems: listProblems().filter(({ name }) => problems?.includes(name) ?? true),
      samplers: names,
      parallel: parallel.map(Number),
      seeds: Array.from({ length: Number(to) - first }, (_, index) => first + index),
      trials: Number(trials),
    };
    for await (const row of runPlan(plan, samplers)) {
      await appendRow(csv, row);
    }
    await samplers.stop();
  })
  .parseAsync();
