import type { Role } from '#shared/domain/job-spec.ts';
import type { FieldRules, Message } from '#shared/job-file/parser/open-mapping.ts';

/**
 * The messages of AI Platform Training (`ml.googleapis.com` v1, Job and what it holds): all of their fields, and what
 * becomes of each. Whether what is read can be run is judged later, on the draft.
 */
const READ = { use: 'READ' } as const;
const OUTPUT = { use: 'OUTPUT' } as const;

/** How the fields of a role begin in TrainingInput: `parameterServerType`, `parameterServerCount`. */
export const ROLE_PREFIXES = {
  master: 'master',
  worker: 'worker',
  ps: 'parameterServer',
  evaluator: 'evaluator',
} as const satisfies Record<Role, string>;

const OTHER_JOB = {
  use: 'UNSUPPORTED',
  because: 'Dropforge trains and does nothing else',
  remedy: 'Describe a training job with trainingInput.',
} as const;

const JOB_FIELDS = {
  jobId: READ,
  labels: READ,
  trainingInput: READ,
  predictionInput: OTHER_JOB,
  explanationInput: OTHER_JOB,
  createTime: OUTPUT,
  startTime: OUTPUT,
  endTime: OUTPUT,
  state: OUTPUT,
  errorMessage: OUTPUT,
  etag: OUTPUT,
  jobPosition: OUTPUT,
  trainingOutput: OUTPUT,
  predictionOutput: OUTPUT,
  explanationOutput: OUTPUT,
} as const satisfies FieldRules;

const TRAINING_INPUT_FIELDS = {
  scaleTier: READ,
  masterType: READ,
  masterConfig: READ,
  workerType: READ,
  workerCount: READ,
  workerConfig: READ,
  parameterServerType: READ,
  parameterServerCount: READ,
  parameterServerConfig: READ,
  evaluatorType: READ,
  evaluatorCount: READ,
  evaluatorConfig: READ,
  packageUris: READ,
  pythonModule: READ,
  args: READ,
  hyperparameters: READ,
  region: READ,
  jobDir: READ,
  runtimeVersion: READ,
  pythonVersion: READ,
  scheduling: READ,
  serviceAccount: READ,
  network: READ,
  encryptionConfig: READ,
  // No field of the API: what --set-secrets says is carried here from the command line to intake.
  dropforgeSecrets: READ,
  useChiefInTfConfig: { use: 'WITHOUT_EFFECT', because: 'the master is always called chief in TF_CONFIG' },
  enableWebAccess: {
    use: 'WITHOUT_EFFECT',
    because: 'there is no shell into a running job, which runs the same without one',
  },
  nasJobSpec: {
    use: 'UNSUPPORTED',
    because: 'neural architecture search is a service of its own',
    remedy: 'Remove it; search in the program itself.',
  },
} as const satisfies FieldRules;

const REPLICA_CONFIG_FIELDS = {
  acceleratorConfig: READ,
  diskConfig: READ,
  imageUri: READ,
  containerCommand: READ,
  containerArgs: READ,
  tpuTfVersion: {
    use: 'WITHOUT_EFFECT',
    because: 'it only tells the service which TensorFlow is in a TPU worker’s image',
  },
} as const satisfies FieldRules;

const ACCELERATOR_CONFIG_FIELDS = { type: READ, count: READ } as const satisfies FieldRules;

const DISK_CONFIG_FIELDS = { bootDiskSizeGb: READ, bootDiskType: READ } as const satisfies FieldRules;

const SCHEDULING_FIELDS = {
  maxRunningTime: READ,
  maxWaitTime: READ,
  strategy: READ,
  priority: { use: 'WITHOUT_EFFECT', because: 'jobs do not queue for one another' },
  resilientToWorkerRestart: {
    use: 'WITHOUT_EFFECT',
    because: 'a job that loses one of its machines always starts again as a whole',
  },
} as const satisfies FieldRules;

const ENCRYPTION_CONFIG_FIELDS = { kmsKeyName: READ } as const satisfies FieldRules;

const HYPERPARAMETERS_FIELDS = {
  goal: READ,
  hyperparameterMetricTag: READ,
  algorithm: READ,
  maxTrials: READ,
  maxParallelTrials: READ,
  maxFailedTrials: READ,
  enableTrialEarlyStopping: READ,
  resumePreviousJobId: READ,
  params: READ,
} as const satisfies FieldRules;

const PARAMETER_FIELDS = {
  parameterName: READ,
  type: READ,
  minValue: READ,
  maxValue: READ,
  categoricalValues: READ,
  discreteValues: READ,
  scaleType: READ,
} as const satisfies FieldRules;

/** Where names are at home, for those that have slipped out of their mapping. */
function homesWith(configName: string): readonly (readonly [string, FieldRules])[] {
  return [
    ['the top level of the file', JOB_FIELDS],
    ['trainingInput', TRAINING_INPUT_FIELDS],
    [`trainingInput.${configName}`, REPLICA_CONFIG_FIELDS],
    [`trainingInput.${configName}.acceleratorConfig`, ACCELERATOR_CONFIG_FIELDS],
    [`trainingInput.${configName}.diskConfig`, DISK_CONFIG_FIELDS],
    ['trainingInput.scheduling', SCHEDULING_FIELDS],
    ['trainingInput.encryptionConfig', ENCRYPTION_CONFIG_FIELDS],
    ['trainingInput.hyperparameters', HYPERPARAMETERS_FIELDS],
    ['trainingInput.hyperparameters.params', PARAMETER_FIELDS],
  ];
}

/** Names of several homes, as `type` is one, have none. */
function message<Rules extends FieldRules>(rules: Rules, configName = 'masterConfig'): Message<Rules> {
  const homes = homesWith(configName);
  return {
    rules,
    homeOf: (name) => {
      const [home, other] = homes.filter(([, known]) => Object.hasOwn(known, name));
      return other === undefined ? home?.[0] : undefined;
    },
  };
}

/** A role's ReplicaConfig and what it holds; what has slipped there out of its mapping belongs to the same role. */
export function replicaConfigOf(role: Role) {
  const configName = `${ROLE_PREFIXES[role]}Config`;
  return {
    config: message(REPLICA_CONFIG_FIELDS, configName),
    accelerator: message(ACCELERATOR_CONFIG_FIELDS, configName),
    disk: message(DISK_CONFIG_FIELDS, configName),
  };
}

export const JOB = message(JOB_FIELDS);
export const TRAINING_INPUT = message(TRAINING_INPUT_FIELDS);
export const SCHEDULING = message(SCHEDULING_FIELDS);
export const ENCRYPTION_CONFIG = message(ENCRYPTION_CONFIG_FIELDS);
export const HYPERPARAMETERS = message(HYPERPARAMETERS_FIELDS);
export const PARAMETER = message(PARAMETER_FIELDS);
