import type { Flag, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import {
  CUSTOM_JOB_GCLOUD_ONLY_FLAGS,
  TRAINING_GCLOUD_ONLY_FLAGS,
  TUNING_JOB_GCLOUD_ONLY_FLAGS,
  toFlag,
} from '#cli/core/gcloud-flags.ts';
import { POOL_KEYS } from '#shared/job-file/flags/worker-pool-flags.ts';

const ACCELERATOR = 'type=TYPE,count=N';

/**
 * Flags that `gcloud ai-platform jobs submit training` and `gcloud ai custom-jobs create` have in common.
 * `--set-secrets` has the syntax of `gcloud run deploy`.
 */
const COMMON_SUBMIT_FLAGS: readonly Flag[] = [
  { name: 'job-dir', value: 'GS_URI', summary: 'output location; AI Platform passes it to the program as --job-dir' },
  { name: 'labels', value: 'KEY=VALUE,…', isRepeatable: true, summary: 'labels of the job' },
  {
    name: 'set-secrets',
    value: 'ENV=SECRET:VERSION,…',
    isRepeatable: true,
    summary: 'environment variables set from Secret Manager secrets (default version: latest)',
  },
  { name: 'service-account', value: 'EMAIL', summary: 'service account that the program runs as' },
  { name: 'network', value: 'NETWORK', summary: 'projects/PROJECT/global/networks/NAME' },
  {
    name: 'kms-key',
    value: 'KEY',
    summary: 'Cloud KMS key for the disks: its full name, or its id with the next three flags',
  },
  { name: 'kms-keyring', value: 'RING', summary: 'key ring of --kms-key' },
  { name: 'kms-location', value: 'LOCATION', summary: 'location of --kms-key' },
  { name: 'kms-project', value: 'PROJECT', summary: 'project of --kms-key' },
  {
    name: 'enable-web-access',
    summary: 'warn if the deployment has no shells (`dropforge exec`, `ssh`), which need no flag otherwise',
  },
  { name: 'staging-bucket', value: 'GS_BUCKET', summary: 'bucket for the uploaded packages' },
  { name: 'stream-logs', summary: 'print the logs until the job ends; exits with 0 only if it SUCCEEDED' },
  { name: 'async', summary: 'return immediately (the default)' },
  { name: 'dry-run', summary: 'print the job that would be submitted, without submitting it' },
  { name: 'project', value: 'PROJECT', summary: 'must match the project of the cloud' },
];

const MAX_COST: Flag = {
  name: 'max-cost',
  value: 'USD',
  summary: 'of a tuning job: end it with the best values so far when its trials have cost this much, in US dollars',
};

/** Flags that gcloud does not have. */
const RUN_FLAGS: readonly Flag[] = [
  { name: 'gpu', value: 'TYPE[:N]', summary: 'GPUs of the machine, such as T4, A100-80GB or L4:4' },
  { name: 'spot', summary: 'use Spot VMs: much cheaper, but can be preempted; the job then resumes on others' },
  { name: 'max-runtime', value: 'DURATION', summary: 'how long the job may run, such as 90m or 2h (default: 7 days)' },
  {
    name: 'env',
    value: 'KEY=VALUE',
    isRepeatable: true,
    summary: 'environment variable of the program; repeat per variable. For tokens, use --set-secrets',
  },
];

/** All flags of `gcloud ai-platform jobs submit training`: stable, beta and alpha; and those that it does not have. */
export const SUBMIT_FLAGS: readonly Flag[] = [
  {
    name: 'package-path',
    value: 'PATH',
    summary: 'folder of the Python package, a single .py file, or an archive, to upload',
  },
  { name: 'packages', value: 'LIST', summary: 'additional packages, comma-separated: local archives or gs:// URIs' },
  { name: 'module-name', value: 'MODULE', summary: 'the module to run, such as trainer.task' },
  { name: 'config', value: 'FILE', summary: 'job file in YAML or JSON, in any supported format' },
  { name: 'region', value: 'REGION', summary: 'region of the machines' },
  {
    name: 'scale-tier',
    value: 'TIER',
    choices: ['basic', 'standard-1', 'premium-1', 'basic-gpu', 'custom'],
    summary: 'machine configuration: basic, standard-1, premium-1, basic-gpu or custom',
  },
  { name: 'runtime-version', value: 'VERSION', summary: 'AI Platform runtime version' },
  { name: 'python-version', value: 'VERSION', summary: 'Python version of the runtime' },
  { name: 'master-machine-type', value: 'TYPE', summary: 'machine type of the master; requires --scale-tier custom' },
  { name: 'master-accelerator', value: ACCELERATOR, summary: 'GPUs of the master' },
  { name: 'master-image-uri', value: 'IMAGE', summary: 'container image to run instead of a Python package' },
  ...groupFlags('worker', 'workers'),
  ...groupFlags('parameter-server', 'parameter servers'),
  MAX_COST,
  ...RUN_FLAGS,
  ...COMMON_SUBMIT_FLAGS,
  ...TRAINING_GCLOUD_ONLY_FLAGS.map(toFlag),
];

function groupFlags(name: string, replicas: string): readonly Flag[] {
  return [
    {
      name: `${name}-machine-type`,
      value: 'TYPE',
      summary: `machine type of the ${replicas}; requires --${name}-count`,
    },
    { name: `${name}-count`, value: 'N', summary: `number of ${replicas}; requires --${name}-machine-type` },
    { name: `${name}-accelerator`, value: ACCELERATOR, summary: `GPUs of each of the ${replicas}` },
    { name: `${name}-image-uri`, value: 'IMAGE', summary: `container image of the ${replicas}` },
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
  { name: 'display-name', value: 'NAME', summary: 'display name, from which the job id is derived' },
  { name: 'region', value: 'REGION', summary: 'region of the machines' },
  { name: 'config', value: 'FILE', summary: 'CustomJobSpec in YAML or JSON' },
  {
    name: 'worker-pool-spec',
    value: 'KEY=VALUE,…',
    isRepeatable: true,
    summary: `machines and program of one role; repeat per role. Keys: ${KEYS.join(', ')}`,
  },
  {
    name: 'python-package-uris',
    value: 'LIST',
    isRepeatable: true,
    summary: 'packages, comma-separated: gs:// URIs or local archives',
  },
  { name: 'args', value: 'LIST', isRepeatable: true, summary: 'arguments of the program, comma-separated' },
  {
    name: 'command',
    value: 'LIST',
    isRepeatable: true,
    summary: "overrides the container's entry point, comma-separated",
  },
  ...COMMON_SUBMIT_FLAGS,
  ...CUSTOM_JOB_GCLOUD_ONLY_FLAGS.map(toFlag),
];

/** All flags of `gcloud ai hp-tuning-jobs create`: stable, beta and alpha. */
export const TUNING_JOB_FLAGS: readonly Flag[] = [
  { name: 'display-name', value: 'NAME', summary: 'display name, from which the job id is derived' },
  { name: 'region', value: 'REGION', summary: 'region of the machines' },
  { name: 'config', value: 'FILE', summary: 'HyperparameterTuningJob in YAML or JSON: studySpec and trialJobSpec' },
  { name: 'max-trial-count', value: 'N', summary: 'number of trials (default: that of the file, or 1)' },
  {
    name: 'parallel-trial-count',
    value: 'N',
    summary: 'number of trials that run at the same time (default: that of the file, or 1)',
  },
  {
    name: 'algorithm',
    value: 'ALGORITHM',
    choices: ['algorithm-unspecified', 'grid-search', 'random-search'],
    summary: 'algorithm-unspecified (Bayesian optimization), grid-search or random-search',
  },
  MAX_COST,
  ...COMMON_SUBMIT_FLAGS,
  ...TUNING_JOB_GCLOUD_ONLY_FLAGS.map(toFlag),
];
