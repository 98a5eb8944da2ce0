import { type JobDraft, masterOf, type PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { omitEmpty, omitUndefined, textMapOf, valuesOf } from '#shared/job-file/draft/print-fields.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/fields.ts';
import { printHyperparameterSpec } from '#shared/job-file/tuning/print-hyperparameter-spec.ts';

/**
 * The draft as AI Platform's Job (`ml.googleapis.com` v1): what `readAiPlatformJob` reads as the same draft, but for
 * places. What is not said is not printed, and what AI Platform has no field for is left out. Labels are a Map, which
 * YAML prints as a mapping: an object would move names like `10` to the front.
 */
export function printAiPlatformJob(draft: JobDraft): Record<string, unknown> {
  const { jobId, labels } = draft;
  return omitUndefined({
    jobId: jobId?.value,
    labels: textMapOf(labels),
    trainingInput: printTrainingInput(draft),
  });
}

function printTrainingInput(draft: JobDraft): Record<string, unknown> {
  const { program } = masterOf(draft);
  return omitUndefined({
    scaleTier: draft.scaleTier?.value,
    ...Object.assign({}, ...draft.pools.map(printPool)),
    packageUris: valuesOf(program.packageUris),
    pythonModule: program.pythonModule?.value,
    args: valuesOf(program.args),
    hyperparameters: draft.study && printHyperparameterSpec(draft.study),
    region: draft.region?.value,
    jobDir: draft.jobDir?.value,
    runtimeVersion: draft.runtimeVersion?.value,
    pythonVersion: draft.pythonVersion?.value,
    scheduling: omitEmpty({
      maxRunningTime: draft.maxRunningTime?.value,
      maxWaitTime: draft.maxWaitTime?.value,
      strategy: draft.strategy?.value,
    }),
    serviceAccount: draft.serviceAccount?.value,
    network: draft.network?.value,
    encryptionConfig: omitEmpty({ kmsKeyName: draft.kmsKeyName?.value }),
    dropforgeSecrets: textMapOf(draft.secrets),
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
