import { toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { JobSpec, Program, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import {
  objectiveMetricOf,
  type Parameter,
  type ParameterSpace,
  type Study,
  type StudyAlgorithm,
} from '#shared/domain/study.ts';
import { printDuration } from '#shared/job-file/draft/duration.ts';
import { SCALE_NAMES } from '#shared/job-file/tuning/study-enums.ts';

/** The prefix of a role's fields in TrainingInput: `parameterServerType`, `parameterServerCount`. */
export const ROLE_PREFIXES = {
  master: 'master',
  worker: 'worker',
  ps: 'parameterServer',
  evaluator: 'evaluator',
} as const satisfies Record<Role, string>;

/**
 * The job as AI Platform's TrainingInput with all defaults filled in; the tier is always CUSTOM. int64 values are text,
 * as in the API's JSON. Parts without a field in AI Platform are omitted: reservations, environment variables, options
 * of the program, FLEX_START, and other roles' own Python programs and provisioning models.
 */
export function toTrainingInput(spec: JobSpec): Record<string, unknown> {
  const { program, limits, study } = spec;
  return {
    scaleTier: 'CUSTOM',
    ...Object.assign({}, ...spec.replicaGroups.map((group) => describeGroup(group, program))),
    ...((program.kind === 'PYTHON' || program.module !== null) && {
      packageUris: program.packageUris,
      pythonModule: program.module ?? '',
      // A container's are in its config.
      ...(program.kind === 'PYTHON' && program.args.length > 0 && { args: program.args }),
    }),
    ...(study !== null && { hyperparameters: describeStudy(study) }),
    region: spec.region,
    jobDir: spec.jobDir,
    // A container image determines both versions.
    ...(program.kind === 'PYTHON' && {
      runtimeVersion: spec.runtimeVersion,
      ...(spec.pythonVersion !== null && { pythonVersion: spec.pythonVersion }),
    }),
    scheduling: {
      maxRunningTime: printDuration(limits.maxRunningMs),
      ...(limits.maxWaitMs !== null && { maxWaitTime: printDuration(limits.maxWaitMs) }),
      ...(spec.provisioningModel === 'SPOT' && { strategy: 'LOW_COST' }),
    },
    ...(spec.serviceAccount !== null && { serviceAccount: spec.serviceAccount }),
    ...(spec.network !== null && { network: spec.network }),
    ...(spec.kmsKeyName !== null && { encryptionConfig: { kmsKeyName: spec.kmsKeyName } }),
  };
}

/** The same with snake_case keys, for `job` in the program's TF_CONFIG. */
export function toTrainingInputDictionary(spec: JobSpec): Record<string, unknown> {
  return withSnakeCaseKeys(toTrainingInput(spec));
}

function describeGroup(group: ReplicaGroup, jobProgram: Program): Record<string, unknown> {
  const { role, count, machineType, accelerator, bootDiskGib, bootDiskType } = group;
  const prefix = ROLE_PREFIXES[role];
  // Roles without an image run the master's.
  const program = group.program ?? (role === 'master' ? jobProgram : null);
  return {
    [`${prefix}Type`]: machineType,
    ...(role !== 'master' && { [`${prefix}Count`]: String(count) }),
    [`${prefix}Config`]: {
      ...(accelerator !== null && {
        acceleratorConfig: { type: toAcceleratorEnum(accelerator.type), count: String(accelerator.count) },
      }),
      diskConfig: { bootDiskSizeGb: bootDiskGib, bootDiskType },
      ...(program?.kind === 'CONTAINER' && {
        imageUri: program.imageUri,
        ...(program.command.length > 0 && { containerCommand: program.command }),
        ...(program.args.length > 0 && { containerArgs: program.args }),
      }),
    },
  };
}

/** Null for the service's default. */
const ALGORITHMS = {
  BAYESIAN: null,
  GRID: 'GRID_SEARCH',
  RANDOM: 'RANDOM_SEARCH',
} as const satisfies Record<StudyAlgorithm, string | null>;

/** AI Platform supports one metric, early stopping without a rule, and no conditional parameters. */
function describeStudy(study: Study): Record<string, unknown> {
  const metric = objectiveMetricOf(study);
  const algorithm = ALGORITHMS[study.algorithm];
  return {
    goal: metric.goal,
    hyperparameterMetricTag: metric.id,
    ...(algorithm !== null && { algorithm }),
    maxTrials: study.trialsMax,
    maxParallelTrials: study.parallelTrialsMax,
    ...(study.failedTrialsMax !== null && { maxFailedTrials: study.failedTrialsMax }),
    ...(study.earlyStopping !== null && { enableTrialEarlyStopping: true }),
    ...(study.resumeJobId !== null && { resumePreviousJobId: study.resumeJobId }),
    params: study.parameters.map(describeParameter),
  };
}

function describeParameter({ id, space, scale }: Parameter): Record<string, unknown> {
  const scaleType = SCALE_NAMES[scale];
  return {
    parameterName: id,
    type: space.kind,
    ...describeSpace(space),
    ...(scaleType !== null && { scaleType }),
  };
}

function describeSpace(space: ParameterSpace): Record<string, unknown> {
  switch (space.kind) {
    case 'DOUBLE':
    case 'INTEGER':
      return { minValue: space.min, maxValue: space.max };
    case 'CATEGORICAL':
      return { categoricalValues: space.values };
    case 'DISCRETE':
      return { discreteValues: space.values };
  }
}

function withSnakeCaseKeys(mapping: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(mapping).map(([key, value]: [string, unknown]) => [
      key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      withSnakeCase(value),
    ]),
  );
}

function withSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withSnakeCase);
  }
  return typeof value === 'object' && value !== null ? withSnakeCaseKeys(value) : value;
}
