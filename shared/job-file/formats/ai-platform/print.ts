import type { JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitEmpty, valuesOf } from '#shared/job-file/draft/print-fields.ts';
import { printMessage } from '#shared/job-file/fields/field.ts';
import { ENCRYPTION_CONFIG, JOB, SCHEDULING, TRAINING_INPUT } from '#shared/job-file/formats/ai-platform/fields.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import { printHyperparameterSpec } from '#shared/job-file/tuning/print-hyperparameter-spec.ts';

/**
 * Prints a draft as AI Platform's Job (`ml.googleapis.com` v1); `readAiPlatformJob` reads the same draft except for
 * locations. Absent fields and fields that AI Platform does not have are omitted.
 */
export function printAiPlatformJob(draft: JobDraft): Record<string, unknown> {
  return printMessage(draft, JOB.rules, { trainingInput: printTrainingInput(draft) });
}

function printTrainingInput(draft: JobDraft): Record<string, unknown> {
  return printMessage(draft, TRAINING_INPUT.rules, {
    ...Object.assign({}, ...draft.pools.map(printPool)),
    hyperparameters: draft.study && printHyperparameterSpec(draft.study),
    scheduling: omitEmpty(printMessage(draft, SCHEDULING.rules)),
    encryptionConfig: omitEmpty(printMessage(draft, ENCRYPTION_CONFIG.rules)),
  });
}

function printPool({ role, count, machineType, accelerator, ...pool }: PoolDraft): Record<string, unknown> {
  const { bootDiskGib, bootDiskType, program } = pool;
  const prefix = ROLE_PREFIXES[role];
  const config = omitEmpty({
    acceleratorConfig: omitEmpty({ type: accelerator.type?.value, count: accelerator.count?.value }),
    diskConfig: omitEmpty({ bootDiskSizeGb: bootDiskGib?.value, bootDiskType: bootDiskType?.value }),
    imageUri: program.imageUri?.value,
    containerCommand: valuesOf(program.command),
    containerArgs: valuesOf(program.containerArgs),
  });
  return {
    [`${prefix}Type`]: machineType?.value,
    ...(role !== 'master' && { [`${prefix}Count`]: count?.value }),
    [`${prefix}Config`]: config,
  };
}
