import type { Flag, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { CUSTOM_JOB_FOREIGN_FLAGS, TRAINING_FOREIGN_FLAGS, toFlag } from '#cli/core/gcloud-flags.ts';
import { POOL_KEYS } from '#cli/submit/worker-pool-flags.ts';

const ACCELERATOR = 'type=TYPE,count=N';

/**
 * Those of `gcloud ai-platform jobs submit training` and of `gcloud ai custom-jobs create` alike; `--set-secrets` is that
 * of `gcloud run deploy`.
 */
export const COMMON_SUBMIT_FLAGS: readonly Flag[] = [
  { name: 'labels', value: 'KEY=VALUE,…', isRepeatable: true, summary: 'labels of the job' },
  {
    name: 'set-secrets',
    value: 'ENV=SECRET:VERSION,…',
    isRepeatable: true,
    summary: 'environment variables that hold secrets of Secret Manager; without a version, the latest',
  },
  { name: 'service-account', value: 'EMAIL', summary: 'the account that the program runs as' },
  { name: 'network', value: 'NETWORK', summary: 'projects/PROJECT/global/networks/NAME' },
  {
    name: 'kms-key',
    value: 'KEY',
    summary: 'Cloud KMS key for the disks: its full name, or its id and the next three',
  },
  { name: 'kms-keyring', value: 'RING', summary: 'key ring of --kms-key' },
  { name: 'kms-location', value: 'LOCATION', summary: 'location of --kms-key' },
  { name: 'kms-project', value: 'PROJECT', summary: 'project of --kms-key' },
  { name: 'staging-bucket', value: 'GS_BUCKET', summary: 'where packages are uploaded to' },
  { name: 'stream-logs', summary: 'print the logs until the job ends; ends with 0 only when it has SUCCEEDED' },
  { name: 'async', summary: 'return at once, as it does anyway' },
  { name: 'dry-run', summary: 'show the job that would be submitted, and do nothing' },
  { name: 'project', value: 'PROJECT', summary: "must be the cloud's own" },
];

/** The flags of `gcloud ai-platform jobs submit training`, stable, beta and alpha, in gcloud's words. */
export const SUBMIT_FLAGS: readonly Flag[] = [
  { name: 'package-path', value: 'DIR', summary: 'folder of the Python package: it is built and uploaded' },
  { name: 'packages', value: 'LIST', summary: 'more packages by commas: local archives or gs:// addresses' },
  { name: 'module-name', value: 'MODULE', summary: 'the module to run, such as trainer.task' },
  { name: 'config', value: 'FILE', summary: 'a job file in YAML or JSON, of any form that is read' },
  { name: 'region', value: 'REGION', summary: 'where the machines are' },
  { name: 'job-dir', value: 'GS_URI', summary: 'where the output goes, given to the program as --job-dir' },
  { name: 'scale-tier', value: 'TIER', summary: 'the machines: basic, standard-1, premium-1, basic-gpu or custom' },
  { name: 'runtime-version', value: 'VERSION', summary: 'AI Platform runtime version' },
  { name: 'python-version', value: 'VERSION', summary: 'Python version of the runtime' },
  { name: 'master-machine-type', value: 'TYPE', summary: 'with --scale-tier custom' },
  { name: 'master-accelerator', value: ACCELERATOR, summary: 'GPUs of the master' },
  { name: 'master-image-uri', value: 'IMAGE', summary: 'container to run in place of a Python package' },
  ...groupFlags('worker', 'workers'),
  ...groupFlags('parameter-server', 'parameter servers'),
  ...COMMON_SUBMIT_FLAGS,
  ...TRAINING_FOREIGN_FLAGS.map(toFlag),
];

function groupFlags(name: string, what: string): readonly Flag[] {
  return [
    { name: `${name}-machine-type`, value: 'TYPE', summary: `machine type of the ${what}, with their count` },
    { name: `${name}-count`, value: 'N', summary: `how many ${what}, with their machine type` },
    { name: `${name}-accelerator`, value: ACCELERATOR, summary: `GPUs of each of the ${what}` },
    { name: `${name}-image-uri`, value: 'IMAGE', summary: `container of the ${what}` },
  ];
}

/** What would not be done as it was asked, whatever the job. */
export function refuseCombinations({ isSet }: Invocation): void {
  if (isSet('async') && isSet('stream-logs')) {
    throw new UsageFailure('--async and --stream-logs exclude each other: give one of them.');
  }
}

const KEYS = Object.keys(POOL_KEYS).filter((name) => POOL_KEYS[name] === null);

/** The flags of `gcloud ai custom-jobs create`, stable, beta and alpha, in gcloud's words. */
export const CUSTOM_JOB_FLAGS: readonly Flag[] = [
  { name: 'display-name', value: 'NAME', summary: 'a name for people, of which the job id is made' },
  { name: 'region', value: 'REGION', summary: 'where the machines are' },
  { name: 'config', value: 'FILE', summary: 'a CustomJobSpec in YAML or JSON' },
  {
    name: 'worker-pool-spec',
    value: 'KEY=VALUE,…',
    isRepeatable: true,
    summary: `machines of a role and what they run, once for each role: ${KEYS.join(', ')}`,
  },
  {
    name: 'python-package-uris',
    value: 'LIST',
    isRepeatable: true,
    summary: 'packages by commas: gs:// addresses or local archives',
  },
  { name: 'args', value: 'LIST', isRepeatable: true, summary: 'arguments of the program by commas' },
  { name: 'command', value: 'LIST', isRepeatable: true, summary: "in place of a container's entry point, by commas" },
  ...COMMON_SUBMIT_FLAGS,
  ...CUSTOM_JOB_FOREIGN_FLAGS.map(toFlag),
];
