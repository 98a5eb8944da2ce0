import { defineFlag, type Flag, type Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import {
  CUSTOM_JOB_GCLOUD_ONLY_FLAGS,
  TRAINING_GCLOUD_ONLY_FLAGS,
  TUNING_JOB_GCLOUD_ONLY_FLAGS,
} from '#cli/core/gcloud-flags.ts';
import { POOL_KEYS } from '#shared/job-file/flags/worker-pool-flags.ts';

const ACCELERATOR = 'type=TYPE,count=N';

/**
 * Flags that `gcloud ai-platform jobs submit training` and `gcloud ai custom-jobs create` have in common.
 * `--set-secrets` has the syntax of `gcloud run deploy`.
 */
const COMMON_SUBMIT_FLAGS: readonly Flag[] = [
  defineFlag('job-dir GS_URI', 'output location; AI Platform passes it to the program as --job-dir'),
  defineFlag('labels KEY=VALUE,…', 'labels of the job', { isRepeatable: true }),
  defineFlag(
    'set-secrets ENV=SECRET:VERSION,…',
    'environment variables set from Secret Manager secrets (default version: latest)',
    { isRepeatable: true },
  ),
  defineFlag('service-account EMAIL', 'service account that the program runs as'),
  defineFlag('network NETWORK', 'projects/PROJECT/global/networks/NAME'),
  defineFlag('kms-key KEY', 'Cloud KMS key for the disks: its full name, or its id with the next three flags'),
  defineFlag('kms-keyring RING', 'key ring of --kms-key'),
  defineFlag('kms-location LOCATION', 'location of --kms-key'),
  defineFlag('kms-project PROJECT', 'project of --kms-key'),
  defineFlag(
    'enable-web-access',
    'warn if the deployment has no shells (`dropforge exec`, `ssh`), which need no flag otherwise',
  ),
  defineFlag('staging-bucket GS_BUCKET', 'bucket for the uploaded packages'),
  defineFlag('stream-logs', 'print the logs until the job ends; exits with 0 only if it SUCCEEDED'),
  defineFlag('async', 'return immediately (the default)'),
  defineFlag('dry-run', 'print the job that would be submitted, without submitting it'),
  defineFlag('project PROJECT', 'must match the project of the cloud'),
];

const MAX_COST = defineFlag(
  'max-cost USD',
  'of a tuning job: end it with the best values so far when its trials have cost this much, in US dollars',
);

/** Flags that gcloud does not have. */
const RUN_FLAGS: readonly Flag[] = [
  defineFlag('gpu TYPE[:N]', 'GPUs of the machine, such as T4, A100-80GB or L4:4'),
  defineFlag('spot', 'use Spot VMs: much cheaper, but can be preempted; the job then resumes on others'),
  defineFlag('max-runtime DURATION', 'how long the job may run, such as 90m or 2h (default: 7 days)'),
  defineFlag(
    'env KEY=VALUE',
    'environment variable of the program; repeat per variable. For tokens, use --set-secrets',
    { isRepeatable: true },
  ),
];

/** All flags of `gcloud ai-platform jobs submit training`: stable, beta and alpha; and those that it does not have. */
export const SUBMIT_FLAGS: readonly Flag[] = [
  defineFlag('package-path PATH', 'folder of the Python package, a single .py file, or an archive, to upload'),
  defineFlag('packages LIST', 'additional packages, comma-separated: local archives or gs:// URIs'),
  defineFlag('module-name MODULE', 'the module to run, such as trainer.task'),
  defineFlag('config FILE', 'job file in YAML or JSON, in any supported format'),
  defineFlag('region REGION', 'region of the machines'),
  defineFlag('scale-tier TIER', 'machine configuration: basic, standard-1, premium-1, basic-gpu or custom', {
    choices: ['basic', 'standard-1', 'premium-1', 'basic-gpu', 'custom'],
  }),
  defineFlag('runtime-version VERSION', 'AI Platform runtime version'),
  defineFlag('python-version VERSION', 'Python version of the runtime'),
  defineFlag('master-machine-type TYPE', 'machine type of the master; requires --scale-tier custom'),
  defineFlag(`master-accelerator ${ACCELERATOR}`, 'GPUs of the master'),
  defineFlag('master-image-uri IMAGE', 'container image to run instead of a Python package'),
  ...groupFlags('worker', 'workers'),
  ...groupFlags('parameter-server', 'parameter servers'),
  MAX_COST,
  ...RUN_FLAGS,
  ...COMMON_SUBMIT_FLAGS,
  ...TRAINING_GCLOUD_ONLY_FLAGS,
];

function groupFlags(name: string, replicas: string): readonly Flag[] {
  return [
    defineFlag(`${name}-machine-type TYPE`, `machine type of the ${replicas}; requires --${name}-count`),
    defineFlag(`${name}-count N`, `number of ${replicas}; requires --${name}-machine-type`),
    defineFlag(`${name}-accelerator ${ACCELERATOR}`, `GPUs of each of the ${replicas}`),
    defineFlag(`${name}-image-uri IMAGE`, `container image of the ${replicas}`),
  ];
}

/** Throws UsageFailure for flags that exclude each other. */
export function rejectConflictingFlags({ isSet }: Invocation): void {
  if (isSet('async') && isSet('stream-logs')) {
    throw new UsageFailure('--async and --stream-logs are mutually exclusive: use one of them.');
  }
}

const KEYS = Object.keys(POOL_KEYS).filter((name) => POOL_KEYS[name] === null);

/** All flags of `gcloud ai custom-jobs create`: stable, beta and alpha. */
export const CUSTOM_JOB_FLAGS: readonly Flag[] = [
  defineFlag('display-name NAME', 'display name, from which the job id is derived'),
  defineFlag('region REGION', 'region of the machines'),
  defineFlag('config FILE', 'CustomJobSpec in YAML or JSON'),
  defineFlag(
    'worker-pool-spec KEY=VALUE,…',
    `machines and program of one role; repeat per role. Keys: ${KEYS.join(', ')}`,
    { isRepeatable: true },
  ),
  defineFlag('python-package-uris LIST', 'packages, comma-separated: gs:// URIs or local archives', {
    isRepeatable: true,
  }),
  defineFlag('args LIST', 'arguments of the program, comma-separated', { isRepeatable: true }),
  defineFlag('command LIST', "overrides the container's entry point, comma-separated", { isRepeatable: true }),
  ...COMMON_SUBMIT_FLAGS,
  ...CUSTOM_JOB_GCLOUD_ONLY_FLAGS,
];

/** All flags of `gcloud ai hp-tuning-jobs create`: stable, beta and alpha. */
export const TUNING_JOB_FLAGS: readonly Flag[] = [
  defineFlag('display-name NAME', 'display name, from which the job id is derived'),
  defineFlag('region REGION', 'region of the machines'),
  defineFlag('config FILE', 'HyperparameterTuningJob in YAML or JSON: studySpec and trialJobSpec'),
  defineFlag('max-trial-count N', 'number of trials (default: that of the file, or 1)'),
  defineFlag('parallel-trial-count N', 'number of trials that run at the same time (default: that of the file, or 1)'),
  defineFlag('algorithm ALGORITHM', 'algorithm-unspecified (Bayesian optimization), grid-search or random-search', {
    choices: ['algorithm-unspecified', 'grid-search', 'random-search'],
  }),
  MAX_COST,
  ...COMMON_SUBMIT_FLAGS,
  ...TUNING_JOB_GCLOUD_ONLY_FLAGS,
];
