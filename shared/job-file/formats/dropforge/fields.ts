import type { Findings } from '#shared/job-file/parser/findings.ts';
import {
  type FieldRules,
  type Fields,
  type Message,
  openMapping,
  toCamelCase,
} from '#shared/job-file/parser/open-mapping.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';
import type { SourceEntry } from '#shared/job-file/parser/source-tree.ts';

/**
 * The messages of Dropforge's own job form: all of their fields, and what other forms call them.
 * `dropforge-job.schema.json` has the same fields for editors, and `docs/job-file.md` for people.
 */
const READ = { use: 'READ' } as const;

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

const TUNE_FIELDS = {
  metric: READ,
  goal: READ,
  trials: READ,
  parallel: READ,
  algorithm: READ,
  earlyStopping: READ,
  parameters: READ,
} as const satisfies FieldRules;

const PARAMETER_FIELDS = { min: READ, max: READ, values: READ, type: READ, scale: READ } as const;

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

const TUNE_SYNONYMS = {
  hyperparameterMetricTag: 'metric',
  metricId: 'metric',
  metrics: 'metric and goal',
  maxTrials: 'trials',
  maxTrialCount: 'trials',
  maxParallelTrials: 'parallel',
  parallelTrialCount: 'parallel',
  enableTrialEarlyStopping: 'earlyStopping',
  params: 'parameters',
} as const satisfies Synonyms;

const PARAMETER_SYNONYMS = {
  minValue: 'min',
  maxValue: 'max',
  categoricalValues: 'values',
  discreteValues: 'values',
  choices: 'values',
  scaleType: 'scale',
} as const satisfies Synonyms;

type Synonyms = Readonly<Record<string, string>>;

export type OwnMessage<Rules extends FieldRules> = Message<Rules> & { readonly synonyms: Synonyms };

/** Names of several homes (`type`, `count`, `size`) have none. */
function homeOf(name: string): string | undefined {
  if (Object.hasOwn(JOB_FIELDS, name)) {
    return 'the top level of the file';
  }
  return Object.hasOwn(TUNE_FIELDS, name) ? 'tune' : undefined;
}

export const JOB = { rules: JOB_FIELDS, synonyms: JOB_SYNONYMS, homeOf };
export const GROUP = { rules: GROUP_FIELDS, synonyms: GROUP_SYNONYMS, homeOf };
export const GPU = { rules: GPU_FIELDS, synonyms: GPU_SYNONYMS, homeOf };
export const DISK = { rules: DISK_FIELDS, synonyms: DISK_SYNONYMS, homeOf };
export const TUNE = { rules: TUNE_FIELDS, synonyms: TUNE_SYNONYMS, homeOf };
export const PARAMETER = { rules: PARAMETER_FIELDS, synonyms: PARAMETER_SYNONYMS, homeOf };

/** Sorts a mapping's fields as `openMapping` does; names of other forms are answered with those of this one. */
export function openOwnMapping<Rules extends FieldRules>(
  { node, path }: FoundNode,
  message: OwnMessage<Rules>,
  findings: Findings,
): Fields<Rules> {
  if (node.kind !== 'MAPPING') {
    return openMapping({ node, path }, message, findings);
  }
  const own: SourceEntry[] = [];
  for (const entry of node.entries) {
    const meant = findSynonym(entry.key, message.synonyms);
    if (meant === undefined || Object.hasOwn(message.rules, toCamelCase(entry.key))) {
      own.push(entry);
      continue;
    }
    const place = { path: path === '' ? entry.key : `${path}.${entry.key}`, line: entry.line };
    const words = { message: `There is no field ${place.path} in Dropforge's own form.`, remedy: `Write ${meant}.` };
    findings.problems.push({ code: 'UNKNOWN_FIELD', ...words, ...place });
  }
  return openMapping({ path, node: { ...node, entries: own } }, message, findings);
}

/** Case, `-` and `_` count for nothing: `jobID` and `job_id` are meant alike. */
function findSynonym(key: string, synonyms: Synonyms): string | undefined {
  const name = key.toLowerCase().replaceAll(/[-_]/g, '');
  return Object.entries(synonyms).find(([synonym]) => synonym.toLowerCase() === name)?.[1];
}
