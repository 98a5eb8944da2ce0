import type { Role } from '#shared/domain/replica-name.ts';
import type { JobDraft, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { count, flag, NONEMPTY_TEXT, TEXT, textList, textMap, wholeNumber } from '#shared/job-file/fields/kind.ts';
import { nested, type Row, type Table } from '#shared/job-file/fields/table.ts';
import {
  inAccelerator,
  inJob,
  inMasterProgram,
  inPool,
  inProgram,
  ofAccelerator,
  ofProgram,
  ofRole,
} from '#shared/job-file/fields/targets.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import type { FormatNames } from '#shared/job-file/parser/findings.ts';
import { createParentLookup, OUTPUT, withoutEffect } from '#shared/job-file/parser/open-mapping.ts';
import {
  HYPERPARAMETER_FIELDS,
  PARAMETER_FIELDS,
  readHyperparameterSpec,
} from '#shared/job-file/tuning/read-hyperparameter-spec.ts';

const OTHER_JOB = {
  use: 'UNSUPPORTED',
  because: 'Dropforge runs training jobs only',
  remedy: 'Describe a training job with trainingInput.',
} as const;

/** The path of all pools: the fields of all roles are in one mapping. */
export const POOLS_PATH = 'trainingInput';

/**
 * The messages of AI Platform Training (`ml.googleapis.com` v1, Job and its parts): all of their fields with a rule for
 * each. Values are validated later, in the draft.
 */
const ACCELERATOR_CONFIG_FIELDS = {
  type: ofAccelerator(inAccelerator('type', TEXT)),
  count: ofAccelerator(inAccelerator('count', count())),
} as const satisfies Table<PoolDraft>;

const DISK_CONFIG_FIELDS = {
  bootDiskSizeGb: inPool('bootDiskGib', wholeNumber()),
  bootDiskType: inPool('bootDiskType', TEXT),
} as const satisfies Table<PoolDraft>;

const REPLICA_CONFIG_FIELDS = {
  acceleratorConfig: nested(ACCELERATOR_CONFIG_FIELDS),
  diskConfig: nested(DISK_CONFIG_FIELDS),
  imageUri: ofProgram(inProgram('imageUri', NONEMPTY_TEXT)),
  containerCommand: ofProgram(inProgram('command', textList())),
  containerArgs: ofProgram(inProgram('containerArgs', textList())),
  tpuTfVersion: withoutEffect('it only tells the service the TensorFlow version of a TPU worker’s image'),
} as const satisfies Table<PoolDraft>;

const SCHEDULING_FIELDS = {
  maxRunningTime: inJob('maxRunningTime', TEXT),
  maxWaitTime: inJob('maxWaitTime', TEXT),
  strategy: inJob('strategy', TEXT),
  priority: withoutEffect('jobs are not queued by priority'),
  resilientToWorkerRestart: withoutEffect('a job that loses one of its machines is always restarted as a whole'),
} as const satisfies Table<JobDraft>;

const ENCRYPTION_CONFIG_FIELDS = { kmsKeyName: inJob('kmsKeyName', NONEMPTY_TEXT) } as const satisfies Table<JobDraft>;

export const TRAINING_INPUT_FIELDS = {
  scaleTier: inJob('scaleTier', TEXT),
  masterType: machineType('master'),
  masterConfig: replicaConfig('master'),
  workerType: machineType('worker'),
  workerCount: replicaCount('worker'),
  workerConfig: replicaConfig('worker'),
  parameterServerType: machineType('ps'),
  parameterServerCount: replicaCount('ps'),
  parameterServerConfig: replicaConfig('ps'),
  evaluatorType: machineType('evaluator'),
  evaluatorCount: replicaCount('evaluator'),
  evaluatorConfig: replicaConfig('evaluator'),
  packageUris: inMasterProgram('packageUris', textList()),
  pythonModule: inMasterProgram('pythonModule', TEXT),
  args: inMasterProgram('args', textList()),
  hyperparameters: {
    read: (draft, found, findings) => ({ ...draft, study: found && readHyperparameterSpec(found, findings) }),
  },
  region: inJob('region', TEXT),
  jobDir: inJob('jobDir', TEXT),
  runtimeVersion: inJob('runtimeVersion', TEXT),
  pythonVersion: inJob('pythonVersion', TEXT),
  scheduling: nested(SCHEDULING_FIELDS),
  serviceAccount: inJob('serviceAccount', NONEMPTY_TEXT),
  network: inJob('network', NONEMPTY_TEXT),
  encryptionConfig: nested(ENCRYPTION_CONFIG_FIELDS),
  // Fields of Dropforge's own (docs/job-file.md): the API has none for them.
  dropforgeSecrets: inJob('secrets', textMap()),
  dropforgeKeepOnFailure: inJob('keepOnFailure', TEXT),
  useChiefInTfConfig: withoutEffect('the master is always called chief in TF_CONFIG'),
  enableWebAccess: inJob('webAccess', flag()),
  nasJobSpec: {
    use: 'UNSUPPORTED',
    because: 'neural architecture search is a separate service',
    remedy: 'Remove it, and implement the search in the program.',
  },
} as const satisfies Table<JobDraft>;

export const JOB_FIELDS = {
  jobId: inJob('jobId', TEXT),
  labels: inJob('labels', textMap()),
  trainingInput: nested<JobDraft>(TRAINING_INPUT_FIELDS),
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
} as const satisfies Table<JobDraft>;

function machineType(role: Role) {
  return ofRole(role, POOLS_PATH)(inPool('machineType', TEXT));
}

function replicaCount(role: Role) {
  return ofRole(role, POOLS_PATH)(inPool('count', count()));
}

/** A field in the wrong mapping of the ReplicaConfig belongs to the same role. */
function replicaConfig(role: Role): Row<JobDraft> {
  const { read } = ofRole(role, POOLS_PATH)(nested<PoolDraft>(REPLICA_CONFIG_FIELDS));
  return {
    read: (draft, found, findings) => read(draft, found, { ...findings, names: { parentOf: parentLookup(role) } }),
  };
}

/** Where a field in the wrong mapping belongs; a field of a ReplicaConfig, to that of the given role. */
export function parentLookup(role: Role): FormatNames['parentOf'] {
  const config = `trainingInput.${ROLE_PREFIXES[role]}Config`;
  return createParentLookup([
    ['the top level of the file', JOB_FIELDS],
    ['trainingInput', TRAINING_INPUT_FIELDS],
    [config, REPLICA_CONFIG_FIELDS],
    [`${config}.acceleratorConfig`, ACCELERATOR_CONFIG_FIELDS],
    [`${config}.diskConfig`, DISK_CONFIG_FIELDS],
    ['trainingInput.scheduling', SCHEDULING_FIELDS],
    ['trainingInput.encryptionConfig', ENCRYPTION_CONFIG_FIELDS],
    ['trainingInput.hyperparameters', HYPERPARAMETER_FIELDS],
    ['trainingInput.hyperparameters.params', PARAMETER_FIELDS],
  ]);
}
