import type { FieldRules, Message } from '#shared/spec/open-mapping.ts';

/**
 * The messages of AI Platform Training (`ml.googleapis.com` v1, Job and what it holds): all of their fields, and what
 * becomes of each. A job has one replica; what needs more than one, or another service, is refused by name.
 */
const READ = { use: 'READ' } as const;
const OUTPUT = { use: 'OUTPUT' } as const;

const REPLICA_COUNT = {
  use: 'UNSUPPORTED',
  because: 'a job runs on one machine',
  remedy: 'Remove it or set it to 0; a masterType with several GPUs takes the place of workers.',
} as const;

const OTHER_REPLICAS = { use: 'WITHOUT_EFFECT', because: 'a job runs on one machine, that of masterType' } as const;

const CONTAINER = {
  use: 'UNSUPPORTED',
  because: 'jobs run Python packages on machine images, not containers',
  remedy: 'Name the program with packageUris and pythonModule, and its environment with runtimeVersion.',
} as const;

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
  packageUris: READ,
  pythonModule: READ,
  args: READ,
  region: READ,
  jobDir: READ,
  runtimeVersion: READ,
  pythonVersion: READ,
  scheduling: READ,
  workerCount: REPLICA_COUNT,
  parameterServerCount: REPLICA_COUNT,
  evaluatorCount: REPLICA_COUNT,
  workerType: OTHER_REPLICAS,
  parameterServerType: OTHER_REPLICAS,
  evaluatorType: OTHER_REPLICAS,
  workerConfig: OTHER_REPLICAS,
  parameterServerConfig: OTHER_REPLICAS,
  evaluatorConfig: OTHER_REPLICAS,
  useChiefInTfConfig: { use: 'WITHOUT_EFFECT', because: 'it is for jobs in containers' },
  hyperparameters: {
    use: 'UNSUPPORTED',
    because: 'jobs are not tuned by the service',
    remedy: 'Submit a job for each set of values, with the values in args.',
  },
  nasJobSpec: {
    use: 'UNSUPPORTED',
    because: 'neural architecture search is a service of its own',
    remedy: 'Remove it; search in the program itself.',
  },
  serviceAccount: {
    use: 'UNSUPPORTED',
    because: 'all VMs run as the service account that Dropforge was deployed with',
    remedy: 'Remove it, and grant that account what the program needs.',
  },
  network: {
    use: 'UNSUPPORTED',
    because: 'all VMs are in the network that Dropforge was deployed with',
    remedy: 'Remove it, and peer that network with what the program needs.',
  },
  encryptionConfig: {
    use: 'UNSUPPORTED',
    because: 'disks of VMs cannot be given a key of their own',
    remedy: 'Remove it if Google’s default encryption is enough; a bucket can have a default key of its own.',
  },
  enableWebAccess: {
    use: 'UNSUPPORTED',
    because: 'there is no shell into a running job',
    remedy: 'Remove it, or set it to false; the output of a job can be followed while it runs.',
  },
} as const satisfies FieldRules;

const REPLICA_CONFIG_FIELDS = {
  acceleratorConfig: READ,
  diskConfig: READ,
  imageUri: CONTAINER,
  containerCommand: CONTAINER,
  containerArgs: CONTAINER,
  tpuTfVersion: CONTAINER,
} as const satisfies FieldRules;

const ACCELERATOR_CONFIG_FIELDS = { type: READ, count: READ } as const satisfies FieldRules;

const DISK_CONFIG_FIELDS = { bootDiskSizeGb: READ, bootDiskType: READ } as const satisfies FieldRules;

const SCHEDULING_FIELDS = {
  maxRunningTime: READ,
  maxWaitTime: READ,
  strategy: READ,
  priority: { use: 'WITHOUT_EFFECT', because: 'jobs do not queue for one another' },
  resilientToWorkerRestart: { use: 'WITHOUT_EFFECT', because: 'a job has no workers besides its master' },
} as const satisfies FieldRules;

/** Where a name is at home, for those that have slipped out of their mapping; names of several homes have none. */
const HOMES: readonly (readonly [string, FieldRules])[] = [
  ['the top level of the file', JOB_FIELDS],
  ['trainingInput', TRAINING_INPUT_FIELDS],
  ['trainingInput.masterConfig', REPLICA_CONFIG_FIELDS],
  ['trainingInput.masterConfig.diskConfig', DISK_CONFIG_FIELDS],
  ['trainingInput.scheduling', SCHEDULING_FIELDS],
];

function homeOf(name: string): string | undefined {
  return HOMES.find(([, rules]) => Object.hasOwn(rules, name))?.[0];
}

function message<Rules extends FieldRules>(rules: Rules): Message<Rules> {
  return { rules, homeOf };
}

export const JOB = message(JOB_FIELDS);
export const TRAINING_INPUT = message(TRAINING_INPUT_FIELDS);
export const REPLICA_CONFIG = message(REPLICA_CONFIG_FIELDS);
export const ACCELERATOR_CONFIG = message(ACCELERATOR_CONFIG_FIELDS);
export const DISK_CONFIG = message(DISK_CONFIG_FIELDS);
export const SCHEDULING = message(SCHEDULING_FIELDS);
