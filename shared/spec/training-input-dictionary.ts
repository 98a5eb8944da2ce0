import { toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { JobSpec, ReplicaGroup, Role } from '#shared/domain/job-spec.ts';
import { printDuration } from '#shared/spec/duration.ts';

/** How TrainingInput's fields for a role begin. */
const ROLE_PREFIXES = {
  master: 'master',
  worker: 'worker',
  ps: 'parameterServer',
  evaluator: 'evaluator',
} as const satisfies Record<Role, string>;

/**
 * The job as AI Platform's TrainingInput, everything said that a shorter file leaves to defaults: the tier is always
 * CUSTOM. int64 are text, as in the API's JSON.
 */
export function toTrainingInput(spec: JobSpec): Record<string, unknown> {
  const { program, limits } = spec;
  return {
    scaleTier: 'CUSTOM',
    ...Object.assign({}, ...spec.replicaGroups.map(describeGroup)),
    packageUris: program.packageUris,
    pythonModule: program.module,
    ...(program.args.length > 0 && { args: program.args }),
    region: spec.region,
    jobDir: spec.jobDir,
    runtimeVersion: spec.runtimeVersion,
    ...(spec.pythonVersion !== null && { pythonVersion: spec.pythonVersion }),
    scheduling: {
      maxRunningTime: printDuration(limits.maxRunningMs),
      ...(limits.maxWaitMs !== null && { maxWaitTime: printDuration(limits.maxWaitMs) }),
      ...(spec.provisioningModel === 'SPOT' && { strategy: 'LOW_COST' }),
    },
  };
}

/** The same with keys in snake_case: what the program finds as `job` in TF_CONFIG. */
export function toTrainingInputDictionary(spec: JobSpec): Record<string, unknown> {
  return withSnakeCaseKeys(toTrainingInput(spec));
}

function describeGroup({ role, count, machineType, accelerator, bootDiskGib }: ReplicaGroup): Record<string, unknown> {
  const prefix = ROLE_PREFIXES[role];
  return {
    [`${prefix}Type`]: machineType,
    ...(role !== 'master' && { [`${prefix}Count`]: String(count) }),
    [`${prefix}Config`]: {
      ...(accelerator !== null && {
        acceleratorConfig: { type: toAcceleratorEnum(accelerator.type), count: String(accelerator.count) },
      }),
      diskConfig: { bootDiskSizeGb: bootDiskGib },
    },
  };
}

function withSnakeCaseKeys(mapping: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(mapping).map(([key, value]: [string, unknown]) => [
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      typeof value === 'object' && value !== null && !Array.isArray(value) ? withSnakeCaseKeys(value) : value,
    ]),
  );
}
