import type { JobDraft, PoolDraft, ProgramDraft, ReservationDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitEmpty, omitEmptyList, omitUndefined, valuesOf } from '#shared/job-file/draft/print-fields.ts';
import { printMessage } from '#shared/job-file/fields/field.ts';
import {
  CUSTOM_JOB,
  ENCRYPTION_SPEC,
  JOB_SPEC,
  OUTPUT_DIRECTORY,
  PSC_INTERFACE_CONFIG,
  SCHEDULING,
  TUNING_JOB,
} from '#shared/job-file/formats/vertex-ai/fields.ts';
import { printStudySpec } from '#shared/job-file/tuning/print-study-spec.ts';

/**
 * Prints a draft of the dialect vertex-ai: as HyperparameterTuningJob if it has a study, otherwise as CustomJob.
 * `readVertexJob` reads the same draft except for locations. Absent fields are omitted, except for the job spec, by
 * which the reader recognizes the format.
 */
export function printVertexJob(draft: JobDraft): Record<string, unknown> {
  const job = printJob(draft);
  const name = draft.study === undefined ? 'customJob' : 'hyperparameterTuningJob';
  // A job has no region; the request that creates it has one.
  return draft.region === undefined ? job : { parent: `projects/-/locations/${draft.region.value}`, [name]: job };
}

function printJob(draft: JobDraft): Record<string, unknown> {
  const { study } = draft;
  const jobSpec = printJobSpec(draft);
  const encryptionSpec = omitEmpty(printMessage(draft, ENCRYPTION_SPEC.rules));
  if (study === undefined) {
    return printMessage(draft, CUSTOM_JOB.rules, { jobSpec, encryptionSpec });
  }
  return printMessage(draft, TUNING_JOB.rules, {
    studySpec: printStudySpec(study),
    maxTrialCount: study.maxTrials?.value,
    parallelTrialCount: study.parallelTrials?.value,
    maxFailedTrialCount: study.maxFailedTrials?.value,
    trialJobSpec: jobSpec,
    dropforgeMaxCost: study.maxCostUsd?.value,
    encryptionSpec,
  });
}

function printJobSpec(draft: JobDraft): Record<string, unknown> {
  return printMessage(draft, JOB_SPEC.rules, {
    workerPoolSpecs: omitEmptyList(draft.pools.map(printWorkerPool)),
    scheduling: omitEmpty(printMessage(draft, SCHEDULING.rules)),
    pscInterfaceConfig: omitEmpty(printMessage(draft, PSC_INTERFACE_CONFIG.rules)),
    baseOutputDirectory: omitEmpty(printMessage(draft, OUTPUT_DIRECTORY.rules)),
  });
}

/** Prints one of Vertex AI's WorkerPoolSpecs; `{}` for an absent pool. */
function printWorkerPool(pool: PoolDraft): Record<string, unknown> {
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
