import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import {
  type JobDraft,
  type KeyedText,
  masterOf,
  type PoolDraft,
  type ReservationDraft,
} from '#shared/job-file/draft/job-draft.ts';
import { isDropforgeField } from '#shared/job-file/formats/dropforge/read.ts';
import {
  ALGORITHMS,
  GOALS,
  PARAMETER_TYPES,
  printGpus,
  RESERVATIONS,
  SCALES,
  shortWord,
  toShortDuration,
} from '#shared/job-file/formats/dropforge/values.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/tuning/study-draft.ts';

const GROUP_FIELDS = { master: '', worker: 'workers', ps: 'parameterServers', evaluator: 'evaluators' } as const;

/** Google's names of this strategy: Vertex AI's, and AI Platform's, which Vertex AI still knows. */
const SPOT_STRATEGIES = ['SPOT', 'LOW_COST'];

/**
 * Prints a draft in Dropforge's own form, in the order of `docs/job-file.md`; reading it gives the same draft but for
 * the places. What the form has no field for is left out: a draft that was read from it has nothing such.
 */
export function printDropforgeJob(draft: JobDraft): Record<string, unknown> {
  const first = masterOf(draft);
  const { program } = first;
  const fields = said({
    name: draft.jobId?.value,
    module: program.pythonModule?.value,
    image: program.imageUri?.value,
    command: textsOf(program.command),
    args: textsOf(program.args),
    packages: textsOf(program.packageUris),
    ...printMachine(first),
    ...printGroups(draft, first),
    spot: SPOT_STRATEGIES.includes(draft.strategy?.value ?? '') || undefined,
    flexStart: draft.strategy?.value === 'FLEX_START' || undefined,
    region: draft.region?.value,
    output: draft.jobDir?.value,
    maxRuntime: draft.maxRunningTime && toShortDuration(draft.maxRunningTime.value),
    maxWait: draft.maxWaitTime && toShortDuration(draft.maxWaitTime.value),
    retries: draft.restartsMax?.value,
    runtime: draft.runtimeVersion?.value,
    python: draft.pythonVersion?.value,
    disk: printDisk(first),
    env: textMapOf(program.environment),
    secrets: textMapOf(draft.secrets),
    labels: textMapOf(draft.labels),
    serviceAccount: draft.serviceAccount?.value,
    network: draft.network?.value,
    kmsKey: draft.kmsKeyName?.value,
    reservation: printReservation(first.reservation),
    tune: draft.study && printStudy(draft.study),
  });
  // By one of its own names the file is known for a job.
  return Object.keys(fields).some(isDropforgeField) ? fields : { module: null, ...fields };
}

/** A machine type that the GPUs bring along was not said. */
function printMachine({ machineType, accelerator }: PoolDraft): Record<string, unknown> {
  const { type, count } = accelerator;
  const chosen = type && typeof count?.value === 'number' && machineForGpus({ type: type.value, count: count.value });
  return { gpu: printGpus(accelerator), machine: machineType?.value === chosen ? undefined : machineType?.value };
}

function printGroups(draft: JobDraft, first: PoolDraft): Record<string, unknown> {
  const groups = draft.pools.filter((pool) => pool.role !== 'master');
  return Object.fromEntries(groups.map((pool) => [GROUP_FIELDS[pool.role], printGroup(pool, first)]));
}

/** A count alone where the machines are like the first one; `readGroup` says what a group takes from that. */
function printGroup(pool: PoolDraft, first: PoolDraft): unknown {
  const machine = printMachine(pool);
  const reservation = printReservation(pool.reservation);
  const isLikeFirst = isSame(machine, printMachine(first));
  const hasReservationOfFirst = isSame(reservation, printReservation(first.reservation));
  const disk = printDisk(pool);
  const own = said({
    ...((!isLikeFirst || (reservation === undefined && !hasReservationOfFirst)) && machine),
    disk: isSame(disk, printDisk(first)) ? undefined : disk,
    reservation: isLikeFirst && hasReservationOfFirst ? undefined : reservation,
  });
  return Object.keys(own).length === 0 ? pool.count?.value : { ...said({ count: pool.count?.value }), ...own };
}

function printDisk({ bootDiskGib: size, bootDiskType: type }: PoolDraft): unknown {
  if (size === undefined && type === undefined) {
    return undefined;
  }
  return type === undefined ? size?.value : said({ size: size?.value, type: type.value });
}

function printReservation(reservation: ReservationDraft | undefined): unknown {
  if (reservation?.type === undefined) {
    return undefined;
  }
  const word = shortWord(reservation.type.value, RESERVATIONS);
  return word === reservation.type.value ? reservation.values.map(({ value }) => value) : word;
}

function printStudy(study: StudyDraft): Record<string, unknown> {
  const [metric] = study.metrics;
  const goal = metric?.goal && shortWord(metric.goal.value, GOALS);
  return said({
    metric: metric?.id?.value,
    goal: metric?.goal?.value === GOALS.maximize ? undefined : goal,
    trials: study.maxTrials?.value,
    parallel: study.parallelTrials?.value,
    algorithm: study.algorithm && shortWord(study.algorithm.value, ALGORITHMS),
    earlyStopping: study.earlyStopping && true,
    parameters:
      study.parameters &&
      Object.fromEntries(study.parameters.map((parameter) => [parameter.id?.value ?? '', printParameter(parameter)])),
  });
}

function printParameter({ kind, min, max, values, scale }: ParameterDraft): unknown {
  const isDiscrete = kind?.value === PARAMETER_TYPES.discrete;
  const choices = values?.map(({ value }) => (isDiscrete && String(Number(value)) === value ? Number(value) : value));
  const fields = said({
    min: min?.value,
    max: max?.value,
    values: choices,
    type:
      kind?.value === kindUnsaid(choices, [min?.value, max?.value])
        ? undefined
        : kind && shortWord(kind.value, PARAMETER_TYPES),
    scale: scale && shortWord(scale.value, SCALES),
  });
  return choices !== undefined && Object.keys(fields).length === 1 ? choices : fields;
}

/** The kind that the reader takes such values for where none is said. */
function kindUnsaid(choices: readonly unknown[] | undefined, bounds: readonly (number | undefined)[]): string {
  if (choices !== undefined) {
    const areNumbers = choices.length > 0 && choices.every((choice) => typeof choice === 'number');
    return areNumbers ? PARAMETER_TYPES.discrete : PARAMETER_TYPES.categorical;
  }
  const areWhole = bounds.every((bound) => bound !== undefined && /^-?\d+$/.test(String(bound)));
  return areWhole ? PARAMETER_TYPES.integer : PARAMETER_TYPES.double;
}

function textsOf(list: readonly Located<string>[] | undefined): readonly string[] | undefined {
  return list?.map(({ value }) => value);
}

function textMapOf(list: readonly Located<KeyedText>[]): Record<string, string> | undefined {
  return list.length === 0 ? undefined : Object.fromEntries(list.map(({ value: { key, text } }) => [key, text]));
}

function said(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** What is printed alike reads alike. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
