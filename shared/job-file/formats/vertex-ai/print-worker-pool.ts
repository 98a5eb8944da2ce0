import type { PoolDraft, ProgramDraft, ReservationDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitEmpty, omitEmptyList, omitUndefined, valuesOf } from '#shared/job-file/draft/print-fields.ts';

/** Prints one of Vertex AI's WorkerPoolSpecs; `{}` for an absent pool. */
export function printWorkerPool(pool: PoolDraft): Record<string, unknown> {
  return omitUndefined({
    machineSpec: omitEmpty({
      machineType: pool.machineType?.value,
      acceleratorType: pool.accelerator.type?.value,
      acceleratorCount: pool.accelerator.count?.value,
      tpuTopology: pool.tpuTopology?.value,
      reservationAffinity: pool.reservation && printReservation(pool.reservation),
    }),
    replicaCount: pool.count?.value,
    diskSpec: omitEmpty({ bootDiskType: pool.bootDiskType?.value, bootDiskSizeGb: pool.bootDiskGib?.value }),
    ...printProgram(pool.program),
  });
}

function printReservation({ type, key, values }: ReservationDraft): Record<string, unknown> {
  return omitUndefined({
    reservationAffinityType: type?.value,
    key: key?.value,
    values: omitEmptyList(values.map(({ value }) => value)),
  });
}

/** An environment without a program is printed with a Python package, the more common kind. */
function printProgram(program: ProgramDraft) {
  const env = omitEmptyList(program.environment.map(({ value: { key, text } }) => ({ name: key, value: text })));
  const container = omitEmpty({
    imageUri: program.imageUri?.value,
    command: valuesOf(program.command),
    args: valuesOf(program.containerArgs),
  });
  const python = {
    executorImageUri: program.executorImageUri?.value,
    packageUris: valuesOf(program.packageUris),
    pythonModule: program.pythonModule?.value,
    args: valuesOf(program.args),
  };
  return {
    containerSpec: container && omitUndefined({ ...container, env }),
    pythonPackageSpec: omitEmpty(container === undefined ? { ...python, env } : python),
  };
}
