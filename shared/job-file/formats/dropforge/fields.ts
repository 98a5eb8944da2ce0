import { type FieldRules, READ } from '#shared/job-file/parser/open-mapping.ts';
import { TUNE_FIELDS } from '#shared/job-file/tuning/tune-fields.ts';

/**
 * The messages of Dropforge's own job form: all of their fields, and what other forms call them.
 * `dropforge-job.schema.json` has the same fields for editors, and `docs/job-file.md` for people.
 */
const JOB_FIELDS = {
  name: READ,
  module: READ,
  image: READ,
  command: READ,
  args: READ,
  packages: READ,
  gpu: READ,
  machine: READ,
  workers: READ,
  parameterServers: READ,
  evaluators: READ,
  spot: READ,
  flexStart: READ,
  region: READ,
  output: READ,
  maxRuntime: READ,
  maxWait: READ,
  retries: READ,
  runtime: READ,
  python: READ,
  disk: READ,
  env: READ,
  secrets: READ,
  labels: READ,
  serviceAccount: READ,
  network: READ,
  kmsKey: READ,
  reservation: READ,
  tune: READ,
} as const satisfies FieldRules;

const GROUP_FIELDS = { count: READ, machine: READ, gpu: READ, disk: READ, reservation: READ } as const;

const GPU_FIELDS = { type: READ, count: READ } as const;

const DISK_FIELDS = { size: READ, type: READ } as const;

/** What AI Platform, Vertex AI and the tools that people come from call it, and what it is called here. */
const JOB_SYNONYMS = {
  jobId: 'name',
  displayName: 'name',
  pythonModule: 'module',
  entrypoint: 'module',
  imageUri: 'image',
  masterImageUri: 'image',
  docker: 'image',
  containerSpec: 'image, command and args',
  containerCommand: 'command',
  containerArgs: 'args',
  run: 'module, or image and command',
  commands: 'module, or image and command',
  packageUris: 'packages',
  packagePath: 'packages',
  pythonPackageSpec: 'module, packages and args',
  gpus: 'gpu',
  accelerator: 'gpu',
  accelerators: 'gpu',
  acceleratorType: 'gpu',
  acceleratorCount: 'gpu',
  acceleratorConfig: 'gpu',
  masterConfig: 'gpu and disk',
  machineSpec: 'gpu and machine',
  resources: 'gpu, machine, disk, spot and region',
  machineType: 'machine',
  masterType: 'machine',
  masterMachineType: 'machine',
  instanceType: 'machine',
  scaleTier: 'machine or gpu',
  workerCount: 'workers',
  workerType: 'workers, with a count and a machine',
  workerConfig: 'workers, with a count, a machine and a gpu',
  numNodes: 'workers, one less than all machines',
  nodes: 'workers, one less than all machines',
  parameterServerCount: 'parameterServers',
  parameterServerType: 'parameterServers, with a count and a machine',
  evaluatorCount: 'evaluators',
  evaluatorType: 'evaluators, with a count and a machine',
  scheduling: 'maxRuntime, maxWait, spot and flexStart',
  strategy: 'spot: true or flexStart: true',
  useSpot: 'spot: true',
  spotPolicy: 'spot: true',
  jobDir: 'output',
  baseOutputDirectory: 'output',
  maxRunningTime: 'maxRuntime',
  maxDuration: 'maxRuntime',
  timeout: 'maxRuntime',
  maxWaitTime: 'maxWait',
  maxWaitDuration: 'maxWait',
  maxRetries: 'retries',
  retry: 'retries',
  runtimeVersion: 'runtime',
  pythonVersion: 'python',
  diskSize: 'disk',
  diskConfig: 'disk',
  diskSpec: 'disk',
  bootDiskSizeGb: 'disk',
  bootDiskType: 'disk, with a size and a type',
  envs: 'env',
  environment: 'env',
  secretEnv: 'secrets',
  dropforgeSecrets: 'secrets',
  encryptionConfig: 'kmsKey',
  encryptionSpec: 'kmsKey',
  kmsKeyName: 'kmsKey',
  reservationAffinity: 'reservation',
  hyperparameters: 'tune',
  studySpec: 'tune',
} as const satisfies Synonyms;

const GROUP_SYNONYMS = {
  replicaCount: 'count',
  machineType: 'machine',
  acceleratorConfig: 'gpu',
  accelerators: 'gpu',
  diskConfig: 'disk',
  diskSpec: 'disk',
} as const satisfies Synonyms;

const GPU_SYNONYMS = { acceleratorType: 'type', name: 'type', acceleratorCount: 'count' } as const satisfies Synonyms;

const DISK_SYNONYMS = {
  bootDiskSizeGb: 'size',
  sizeGb: 'size',
  diskSize: 'size',
  bootDiskType: 'type',
} as const satisfies Synonyms;

type Synonyms = Readonly<Record<string, string>>;

/** Where a field in the wrong mapping belongs; undefined for names of several mappings (`type`, `count`, `size`). */
export function parentOf(name: string): string | undefined {
  if (Object.hasOwn(JOB_FIELDS, name)) {
    return 'the top level of the file';
  }
  return Object.hasOwn(TUNE_FIELDS, name) ? 'tune' : undefined;
}

export const JOB = { rules: JOB_FIELDS, synonyms: JOB_SYNONYMS, parentOf };
export const GROUP = { rules: GROUP_FIELDS, synonyms: GROUP_SYNONYMS, parentOf };
export const GPU = { rules: GPU_FIELDS, synonyms: GPU_SYNONYMS, parentOf };
export const DISK = { rules: DISK_FIELDS, synonyms: DISK_SYNONYMS, parentOf };
