import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { flag, number, TEXT, textMap, wholeNumber } from '#shared/job-file/fields/kind.ts';
import { nested, part, type Table } from '#shared/job-file/fields/table.ts';
import { inJob } from '#shared/job-file/fields/targets.ts';
import {
  CONTAINER_FIELDS,
  DISK_FIELDS,
  MACHINE_FIELDS,
  PACKAGE_FIELDS,
  POOL_FIELDS,
  readWorkerPools,
} from '#shared/job-file/formats/vertex-ai/read-worker-pool.ts';
import {
  createParentLookup,
  type FieldRules,
  OUTPUT,
  READ,
  withoutEffect,
} from '#shared/job-file/parser/open-mapping.ts';
import { readStudySpec } from '#shared/job-file/tuning/read-study-spec.ts';
import { inStudy } from '#shared/job-file/tuning/study-targets.ts';

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

const METADATA = withoutEffect('runs are not recorded in Vertex AI Experiments');

const SCHEDULING_FIELDS = {
  timeout: inJob('maxRunningTime', TEXT),
  strategy: inJob('strategy', TEXT),
  maxWaitDuration: inJob('maxWaitTime', TEXT),
  restartJobOnWorkerRestart: withoutEffect('failed replicas are handled the same way in all jobs'),
  disableRetries: withoutEffect('only lost machines are replaced; a failed program is not restarted'),
} as const satisfies Table<JobDraft>;

const PSC_INTERFACE_FIELDS = {
  networkAttachment: inJob('networkAttachment', TEXT),
  dnsPeeringConfigs: withoutEffect('VMs resolve names with the Cloud DNS zones of their own network'),
} as const satisfies Table<JobDraft>;

export const JOB_SPEC_FIELDS = {
  workerPoolSpecs: {
    read: (draft, found, findings) => ({ ...draft, pools: readWorkerPools(found, findings) }),
  },
  scheduling: nested<JobDraft>(SCHEDULING_FIELDS),
  serviceAccount: inJob('serviceAccount', TEXT),
  network: inJob('network', TEXT),
  baseOutputDirectory: nested<JobDraft>({ outputUriPrefix: inJob('jobDir', TEXT) }),
  // Fields of Dropforge's own (docs/job-file.md): the API has none for them.
  dropforgeSecrets: inJob('secrets', textMap()),
  dropforgeKeepOnFailure: inJob('keepOnFailure', TEXT),
  tensorboard: withoutEffect(
    'logs are not uploaded to Vertex AI TensorBoard; TensorBoard can read them from the job’s output',
  ),
  experiment: METADATA,
  experimentRun: METADATA,
  enableWebAccess: inJob('webAccess', flag()),
  enableDashboardAccess: withoutEffect('no ports of a running job are opened'),
  protectedArtifactLocationId: withoutEffect('the location of a job’s output is that of its bucket'),
  reservedIpRanges: withoutEffect('VMs have addresses of their subnet'),
  persistentResourceId: {
    use: 'UNSUPPORTED',
    because: 'VMs are created for each job and deleted after it',
    remedy: 'Remove it, and specify the machines in machineSpec.',
  },
  pscInterfaceConfig: nested<JobDraft>(PSC_INTERFACE_FIELDS),
  models: {
    use: 'UNSUPPORTED',
    because: 'there is no model registry',
    remedy: 'Remove it, and pass the gs:// addresses of the models in args.',
  },
} as const satisfies Table<JobDraft>;

const ENCRYPTION_SPEC = nested<JobDraft>({ kmsKeyName: inJob('kmsKeyName', TEXT) });

/** A tuning job has a study, whichever of its fields are present. */
const ofStudy = part<JobDraft, StudyDraft>((draft, change) => ({
  ...draft,
  study: draft.study && change(draft.study),
}));

export const CUSTOM_JOB_FIELDS = {
  displayName: inJob('displayName', TEXT),
  jobSpec: nested<JobDraft>(JOB_SPEC_FIELDS),
  labels: inJob('labels', textMap()),
  encryptionSpec: ENCRYPTION_SPEC,
  ...OUTPUT_FIELDS,
  webAccessUris: OUTPUT,
} as const satisfies Table<JobDraft>;

export const TUNING_JOB_FIELDS = {
  displayName: inJob('displayName', TEXT),
  trialJobSpec: nested<JobDraft>(JOB_SPEC_FIELDS),
  studySpec: ofStudy({ read: readStudySpec }),
  maxTrialCount: ofStudy(inStudy('maxTrials', wholeNumber())),
  parallelTrialCount: ofStudy(inStudy('parallelTrials', wholeNumber())),
  maxFailedTrialCount: ofStudy(inStudy('maxFailedTrials', wholeNumber())),
  // A field of Dropforge's own (docs/job-file.md): the API has none for it.
  dropforgeMaxCost: ofStudy(inStudy('maxCostUsd', number())),
  labels: inJob('labels', textMap()),
  encryptionSpec: ENCRYPTION_SPEC,
  ...OUTPUT_FIELDS,
  trials: OUTPUT,
} as const satisfies Table<JobDraft>;

/** CreateCustomJobRequest and CreateHyperparameterTuningJobRequest; `parent` is the project and region of the call. */
export const REQUEST_FIELDS = {
  parent: READ,
  customJob: READ,
  hyperparameterTuningJob: READ,
} as const satisfies FieldRules;

export const parentOf = createParentLookup([
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
