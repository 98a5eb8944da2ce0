import type { Role } from '#shared/domain/job-spec.ts';
import { readInto } from '#shared/job-file/fields/field.ts';
import { flag, NONEMPTY_TEXT, TEXT, textList, textMap } from '#shared/job-file/fields/kind.ts';
import { inJob, inProgram } from '#shared/job-file/fields/slot.ts';
import { ROLE_PREFIXES } from '#shared/job-file/formats/ai-platform/training-input-dictionary.ts';
import {
  createParentLookup,
  type FieldRules,
  type Message,
  OUTPUT,
  type ParentLookup,
  READ,
} from '#shared/job-file/parser/open-mapping.ts';
import { HYPERPARAMETER_FIELDS, PARAMETER_FIELDS } from '#shared/job-file/tuning/hyperparameter-spec-fields.ts';

const OTHER_JOB = {
  use: 'UNSUPPORTED',
  because: 'Dropforge runs training jobs only',
  remedy: 'Describe a training job with trainingInput.',
} as const;

/**
 * The messages of AI Platform Training (`ml.googleapis.com` v1, Job and its parts): all of their fields with a rule for
 * each. Values are validated later, in the draft.
 */
const JOB_FIELDS = {
  jobId: readInto(inJob('jobId'), TEXT),
  labels: readInto(inJob('labels'), textMap()),
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
  scaleTier: readInto(inJob('scaleTier'), TEXT),
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
  packageUris: readInto(inProgram('packageUris'), textList()),
  pythonModule: readInto(inProgram('pythonModule'), TEXT),
  args: readInto(inProgram('args'), textList()),
  hyperparameters: READ,
  region: readInto(inJob('region'), TEXT),
  jobDir: readInto(inJob('jobDir'), TEXT),
  runtimeVersion: readInto(inJob('runtimeVersion'), TEXT),
  pythonVersion: readInto(inJob('pythonVersion'), TEXT),
  scheduling: READ,
  serviceAccount: readInto(inJob('serviceAccount'), NONEMPTY_TEXT),
  network: readInto(inJob('network'), NONEMPTY_TEXT),
  encryptionConfig: READ,
  // Not a field of the API: carries the secrets of --set-secrets from the command line to intake.
  dropforgeSecrets: readInto(inJob('secrets'), textMap()),
  useChiefInTfConfig: { use: 'WITHOUT_EFFECT', because: 'the master is always called chief in TF_CONFIG' },
  // Not a field of the API: the files of AI Platform have no other place for it.
  dropforgeKeepOnFailure: readInto(inJob('keepOnFailure'), TEXT),
  enableWebAccess: readInto(inJob('webAccess'), flag()),
  nasJobSpec: {
    use: 'UNSUPPORTED',
    because: 'neural architecture search is a separate service',
    remedy: 'Remove it, and implement the search in the program.',
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
    because: 'it only tells the service the TensorFlow version of a TPU worker’s image',
  },
} as const satisfies FieldRules;

const ACCELERATOR_CONFIG_FIELDS = { type: READ, count: READ } as const satisfies FieldRules;

const DISK_CONFIG_FIELDS = { bootDiskSizeGb: READ, bootDiskType: READ } as const satisfies FieldRules;

const SCHEDULING_FIELDS = {
  maxRunningTime: readInto(inJob('maxRunningTime'), TEXT),
  maxWaitTime: readInto(inJob('maxWaitTime'), TEXT),
  strategy: readInto(inJob('strategy'), TEXT),
  priority: { use: 'WITHOUT_EFFECT', because: 'jobs are not queued by priority' },
  resilientToWorkerRestart: {
    use: 'WITHOUT_EFFECT',
    because: 'a job that loses one of its machines is always restarted as a whole',
  },
} as const satisfies FieldRules;

const ENCRYPTION_CONFIG_FIELDS = {
  kmsKeyName: readInto(inJob('kmsKeyName'), NONEMPTY_TEXT),
} as const satisfies FieldRules;

/** Where a field in the wrong mapping belongs; a field of a ReplicaConfig, to that of the given role. */
export function parentLookup(role: Role = 'master'): ParentLookup {
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

function message<Rules extends FieldRules>(rules: Rules, role?: Role): Message<Rules> {
  return { rules, parentOf: parentLookup(role) };
}

/** A role's ReplicaConfig and the messages in it; a field in the wrong one belongs to the same role. */
export function replicaConfigOf(role: Role) {
  return {
    config: message(REPLICA_CONFIG_FIELDS, role),
    accelerator: message(ACCELERATOR_CONFIG_FIELDS, role),
    disk: message(DISK_CONFIG_FIELDS, role),
  };
}

export const JOB = message(JOB_FIELDS);
export const TRAINING_INPUT = message(TRAINING_INPUT_FIELDS);
export const SCHEDULING = message(SCHEDULING_FIELDS);
export const ENCRYPTION_CONFIG = message(ENCRYPTION_CONFIG_FIELDS);
