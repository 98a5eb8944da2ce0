import { machineForGpus } from '#shared/catalog/machine-for-gpus.ts';
import { type JobDraft, masterOf, type PoolDraft, type ReservationDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitUndefined, textMapOf, valuesOf } from '#shared/job-file/draft/print-fields.ts';
import { isDropforgeField } from '#shared/job-file/formats/dropforge/read.ts';
import { printGpus, RESERVATIONS, toShortDuration } from '#shared/job-file/formats/dropforge/values.ts';
import { toShortName } from '#shared/job-file/parser/short-names.ts';
import { printTune } from '#shared/job-file/tuning/print-tune.ts';

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
  const fields = omitUndefined({
    name: draft.jobId?.value,
    module: program.pythonModule?.value,
    image: program.imageUri?.value,
    command: valuesOf(program.command),
    args: valuesOf(program.args),
    packages: valuesOf(program.packageUris),
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
    tune: draft.study && printTune(draft.study),
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
  const own = omitUndefined({
    ...((!isLikeFirst || (reservation === undefined && !hasReservationOfFirst)) && machine),
    disk: isSame(disk, printDisk(first)) ? undefined : disk,
    reservation: isLikeFirst && hasReservationOfFirst ? undefined : reservation,
  });
  return Object.keys(own).length === 0 ? pool.count?.value : { ...omitUndefined({ count: pool.count?.value }), ...own };
}

function printDisk({ bootDiskGib: size, bootDiskType: type }: PoolDraft): unknown {
  if (size === undefined && type === undefined) {
    return undefined;
  }
  return type === undefined ? size?.value : omitUndefined({ size: size?.value, type: type.value });
}

function printReservation(reservation: ReservationDraft | undefined): unknown {
  if (reservation?.type === undefined) {
    return undefined;
  }
  const word = toShortName(reservation.type.value, RESERVATIONS);
  return word === reservation.type.value ? reservation.values.map(({ value }) => value) : word;
}

/** What is printed alike reads alike. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
