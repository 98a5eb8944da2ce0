import type { PoolDraft, ProgramDraft, ReservationDraft } from '#shared/job-file/draft/job-draft.ts';
import { printFields, printSaid, printValues, unlessEmpty } from '#shared/job-file/parser/print-fields.ts';

/** Prints one of Vertex AI's WorkerPoolSpecs: `{}` for a pool that is left out. */
export function printWorkerPool(pool: PoolDraft): Record<string, unknown> {
  return printFields({
    machineSpec: printSaid({
      machineType: pool.machineType?.value,
      acceleratorType: pool.accelerator.type?.value,
      acceleratorCount: pool.accelerator.count?.value,
      tpuTopology: pool.tpuTopology?.value,
      reservationAffinity: pool.reservation && printReservation(pool.reservation),
    }),
    replicaCount: pool.count?.value,
    diskSpec: printSaid({ bootDiskType: pool.bootDiskType?.value, bootDiskSizeGb: pool.bootDiskGib?.value }),
    ...printProgram(pool.program),
  });
}

function printReservation({ type, key, values }: ReservationDraft): Record<string, unknown> {
  return printFields({
    reservationAffinityType: type?.value,
    key: key?.value,
    values: unlessEmpty(values.map(({ value }) => value)),
  });
}

/** An environment alone tells nothing of its program; it goes with a package, which most programs are. */
function printProgram(program: ProgramDraft) {
  const env = unlessEmpty(program.environment.map(({ value: { key, text } }) => ({ name: key, value: text })));
  const container = printSaid({
    imageUri: program.imageUri?.value,
    command: printValues(program.command),
    args: printValues(program.containerArgs),
  });
  const python = {
    executorImageUri: program.executorImageUri?.value,
    packageUris: printValues(program.packageUris),
    pythonModule: program.pythonModule?.value,
    args: printValues(program.args),
  };
  return {
    containerSpec: container && printFields({ ...container, env }),
    pythonPackageSpec: printSaid(container === undefined ? { ...python, env } : python),
  };
}
