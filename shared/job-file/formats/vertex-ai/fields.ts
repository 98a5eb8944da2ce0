import { readInto } from '#shared/job-file/fields/field.ts';
import { flag, TEXT, textMap } from '#shared/job-file/fields/kind.ts';
import { inJob } from '#shared/job-file/fields/slot.ts';
import {
  createParentLookup,
  type FieldRules,
  type Message,
  OUTPUT,
  READ,
  withoutEffect,
} from '#shared/job-file/parser/open-mapping.ts';

/**
 * The messages of Vertex AI's custom training (`google.cloud.aiplatform.v1`: custom_job.proto,
 * hyperparameter_tuning_job.proto, machine_resources.proto, env_var.proto, encryption_spec.proto, io.proto,
 * reservation_affinity.proto): all of their fields with a rule for each.
 */
const OUTPUT_FIELDS = {
  name: OUTPUT,
  state: OUTPUT,
  createTime: OUTPUT,
  startTime: OUTPUT,
  endTime: OUTPUT,
  updateTime: OUTPUT,
  error: OUTPUT,
  satisfiesPzs: OUTPUT,
  satisfiesPzi: OUTPUT,
} as const satisfies FieldRules;

const CUSTOM_JOB_FIELDS = {
  displayName: readInto(inJob('displayName'), TEXT),
  jobSpec: READ,
  labels: readInto(inJob('labels'), textMap()),
  encryptionSpec: READ,
  ...OUTPUT_FIELDS,
  webAccessUris: OUTPUT,
} as const satisfies FieldRules;

const TUNING_JOB_FIELDS = {
  displayName: readInto(inJob('displayName'), TEXT),
  studySpec: READ,
  maxTrialCount: READ,
  parallelTrialCount: READ,
  maxFailedTrialCount: READ,
  trialJobSpec: READ,
  // Not a field of the API: carries --max-cost from the command line to intake.
  dropforgeMaxCost: READ,
  labels: readInto(inJob('labels'), textMap()),
  encryptionSpec: READ,
  ...OUTPUT_FIELDS,
  trials: OUTPUT,
} as const satisfies FieldRules;

/** CreateCustomJobRequest and CreateHyperparameterTuningJobRequest; `parent` is the project and region of the call. */
const REQUEST_FIELDS = { parent: READ, customJob: READ, hyperparameterTuningJob: READ } as const satisfies FieldRules;

const METADATA = withoutEffect('runs are not recorded in Vertex AI Experiments');

const JOB_SPEC_FIELDS = {
  workerPoolSpecs: READ,
  scheduling: READ,
  serviceAccount: readInto(inJob('serviceAccount'), TEXT),
  network: readInto(inJob('network'), TEXT),
  baseOutputDirectory: READ,
  // Not a field of the API: carries the secrets of --set-secrets from the command line to intake.
  dropforgeSecrets: readInto(inJob('secrets'), textMap()),
  tensorboard: withoutEffect(
    'logs are not uploaded to Vertex AI TensorBoard; TensorBoard can read them from the job’s output',
  ),
  experiment: METADATA,
  experimentRun: METADATA,
  // Not a field of the API: the files of Vertex AI have no other place for it.
  dropforgeKeepOnFailure: readInto(inJob('keepOnFailure'), TEXT),
  enableWebAccess: readInto(inJob('webAccess'), flag()),
  enableDashboardAccess: withoutEffect('no ports of a running job are opened'),
  protectedArtifactLocationId: withoutEffect('the location of a job’s output is that of its bucket'),
  reservedIpRanges: withoutEffect('VMs have addresses of their subnet'),
  persistentResourceId: {
    use: 'UNSUPPORTED',
    because: 'VMs are created for each job and deleted after it',
    remedy: 'Remove it, and specify the machines in machineSpec.',
  },
  pscInterfaceConfig: READ,
  models: {
    use: 'UNSUPPORTED',
    because: 'there is no model registry',
    remedy: 'Remove it, and pass the gs:// addresses of the models in args.',
  },
} as const satisfies FieldRules;

const POOL_FIELDS = {
  containerSpec: READ,
  pythonPackageSpec: READ,
  machineSpec: READ,
  replicaCount: READ,
  diskSpec: READ,
  nfsMounts: {
    use: 'UNSUPPORTED',
    because: 'file systems are not mounted into VMs',
    remedy: 'Remove it; store the data in Cloud Storage and pass its address in args.',
  },
  lustreMounts: {
    use: 'UNSUPPORTED',
    because: 'file systems are not mounted into VMs',
    remedy: 'Remove it; store the data in Cloud Storage and pass its address in args.',
  },
} as const satisfies FieldRules;

const CONTAINER_FIELDS = { imageUri: READ, command: READ, args: READ, env: READ } as const satisfies FieldRules;

const PACKAGE_FIELDS = {
  executorImageUri: READ,
  packageUris: READ,
  pythonModule: READ,
  args: READ,
  env: READ,
} as const satisfies FieldRules;

const VARIABLE_FIELDS = { name: READ, value: READ } as const satisfies FieldRules;

const MACHINE_FIELDS = {
  machineType: READ,
  acceleratorType: READ,
  acceleratorCount: READ,
  tpuTopology: READ,
  reservationAffinity: READ,
  gpuPartitionSize: {
    use: 'UNSUPPORTED',
    because: 'GPUs are not partitioned',
    remedy: 'Remove it; choose a smaller GPU, such as NVIDIA_L4, or run several processes on one.',
  },
} as const satisfies FieldRules;

const RESERVATION_FIELDS = { reservationAffinityType: READ, key: READ, values: READ } as const satisfies FieldRules;

const DISK_FIELDS = { bootDiskType: READ, bootDiskSizeGb: READ } as const satisfies FieldRules;

const SCHEDULING_FIELDS = {
  timeout: readInto(inJob('maxRunningTime'), TEXT),
  strategy: readInto(inJob('strategy'), TEXT),
  maxWaitDuration: readInto(inJob('maxWaitTime'), TEXT),
  restartJobOnWorkerRestart: withoutEffect('failed replicas are handled the same way in all jobs'),
  disableRetries: withoutEffect('only lost machines are replaced; a failed program is not restarted'),
} as const satisfies FieldRules;

const PSC_INTERFACE_FIELDS = {
  networkAttachment: readInto(inJob('networkAttachment'), TEXT),
  dnsPeeringConfigs: withoutEffect('VMs resolve names with the Cloud DNS zones of their own network'),
} as const satisfies FieldRules;

const parentOf = createParentLookup([
  ['the job itself, beside its jobSpec or trialJobSpec', { ...CUSTOM_JOB_FIELDS, ...TUNING_JOB_FIELDS }],
  ['the job spec, which is jobSpec, trialJobSpec or the whole file', JOB_SPEC_FIELDS],
  ['workerPoolSpecs[0]', POOL_FIELDS],
  ['workerPoolSpecs[0].machineSpec', MACHINE_FIELDS],
  ['workerPoolSpecs[0].diskSpec', DISK_FIELDS],
  ['workerPoolSpecs[0].containerSpec', CONTAINER_FIELDS],
  ['workerPoolSpecs[0].pythonPackageSpec', PACKAGE_FIELDS],
  ['the scheduling of the job spec', SCHEDULING_FIELDS],
  ['the pscInterfaceConfig of the job spec', PSC_INTERFACE_FIELDS],
]);

function message<const Rules extends FieldRules>(rules: Rules): Message<Rules> {
  return { rules, parentOf };
}

export const CUSTOM_JOB = message(CUSTOM_JOB_FIELDS);
export const TUNING_JOB = message(TUNING_JOB_FIELDS);
export const CREATE_REQUEST = message(REQUEST_FIELDS);
export const JOB_SPEC = message(JOB_SPEC_FIELDS);
export const WORKER_POOL_SPEC = message(POOL_FIELDS);
export const CONTAINER_SPEC = message(CONTAINER_FIELDS);
export const PYTHON_PACKAGE_SPEC = message(PACKAGE_FIELDS);
export const ENVIRONMENT_VARIABLE = message(VARIABLE_FIELDS);
export const MACHINE_SPEC = message(MACHINE_FIELDS);
export const RESERVATION_AFFINITY = message(RESERVATION_FIELDS);
export const DISK_SPEC = message(DISK_FIELDS);
export const SCHEDULING = message(SCHEDULING_FIELDS);
export const PSC_INTERFACE_CONFIG = message(PSC_INTERFACE_FIELDS);
export const OUTPUT_DIRECTORY = message({ outputUriPrefix: readInto(inJob('jobDir'), TEXT) });
export const ENCRYPTION_SPEC = message({ kmsKeyName: readInto(inJob('kmsKeyName'), TEXT) });
