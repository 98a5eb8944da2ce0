import { selectMain } from '#shared/domain/replica-name.ts';
import type { JobDefinition } from '#shared/protocol/job-definition.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { SeriesIndex } from '#shared/protocol/metric-series.ts';
import { listModels, summarizeMachines } from '#shared/views/describe/describe-machines.ts';

/** The values that distinguish a job, by name: its arguments, machine and labels. */
export type Parameters = Readonly<Record<string, string>>;

/** One of the compared jobs. */
export type ComparedJob = {
  readonly view: JobView;
  readonly parameters: Parameters;
  /** The last value of each metric. */
  readonly metrics: Readonly<Record<string, number | string>>;
};

/** The arguments as pairs: `--lr=0.1`, `--lr 0.1` and the flag `--fast`, whose value is `true`; others by position. */
export function readArguments(args: readonly string[]): Parameters {
  const pairs: [string, string][] = [];
  let position = 0;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const [, name, value] = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    const next = args[index + 1];
    if (name === undefined) {
      position += 1;
      pairs.push([`argument ${position}`, arg]);
    } else if (value !== undefined) {
      pairs.push([name, value]);
    } else if (next === undefined || /^--?[A-Za-z]/.test(next)) {
      pairs.push([name, 'true']);
    } else {
      pairs.push([name, next]);
      index += 1;
    }
  }
  return Object.fromEntries(pairs);
}

export function parametersOf(view: JobView, definition: JobDefinition | undefined): Parameters {
  const { machines, gpus } = summarizeMachines(view.machines);
  const model = view.placement?.provisioningModel ?? view.timeline.at(-1)?.provisioningModel;
  const models = listModels(view.machines, model);
  return {
    ...readArguments(definition?.args ?? []),
    machine: gpus === null ? machines : `${machines} with ${gpus}`,
    ...(models.length > 0 && { provisioning: models.join(' + ').toLowerCase() }),
    ...Object.fromEntries(Object.entries(view.labels).map(([name, value]) => [`label ${name}`, value])),
  };
}

/** The last value of each metric, as the main replica reported it. */
export function lastValuesOf(series: SeriesIndex['series']): ComparedJob['metrics'] {
  const ofPrograms = series.filter(({ kind }) => kind === 'PROGRAM');
  // The main replica's come last, and take the place of others.
  return Object.fromEntries([...ofPrograms, ...selectMain(ofPrograms)].map(({ name, last }) => [name, last.value]));
}

/** The names of parameters, in the order in which jobs have them; `onlyDifferences` leaves out those with one value. */
export function namesOf(all: readonly Parameters[], onlyDifferences: boolean): readonly string[] {
  const names = [...new Set(all.flatMap((parameters) => Object.keys(parameters)))];
  return onlyDifferences ? names.filter((name) => new Set(all.map((parameters) => parameters[name])).size > 1) : names;
}
