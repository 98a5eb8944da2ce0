import type { Flag, Invocation } from '#cli/command.ts';
import { UsageFailure } from '#cli/failure.ts';

/** A flag that only says what a field of `trainingInput` is. */
type FieldFlag = Flag & { readonly field: string };

/** gcloud's own choices; it writes them in lower case with dashes. */
const SCALE_TIERS = ['basic', 'standard-1', 'premium-1', 'basic-gpu', 'basic-tpu', 'custom'] as const;

export const FIELD_FLAGS: readonly FieldFlag[] = [
  { name: 'module-name', value: 'MODULE', summary: 'the module to run, such as trainer.task', field: 'pythonModule' },
  { name: 'region', value: 'REGION', summary: 'where the machines are', field: 'region' },
  {
    name: 'job-dir',
    value: 'GS_URI',
    summary: 'where the output goes, given to the program as --job-dir',
    field: 'jobDir',
  },
  { name: 'runtime-version', value: 'VERSION', summary: 'AI Platform runtime version', field: 'runtimeVersion' },
  { name: 'python-version', value: 'VERSION', summary: 'Python version of the runtime', field: 'pythonVersion' },
  { name: 'master-machine-type', value: 'TYPE', summary: 'with --scale-tier custom', field: 'masterType' },
];

/** Flags of gcloud that would be a lie if they were taken: each with the reason. */
const REFUSED: Readonly<Record<string, string>> = {
  'worker-machine-type': 'jobs of more than one replica are not run yet',
  'worker-count': 'jobs of more than one replica are not run yet',
  'worker-accelerator': 'jobs of more than one replica are not run yet',
  'worker-image-uri': 'custom containers are not run yet',
  'parameter-server-machine-type': 'jobs of more than one replica are not run yet',
  'parameter-server-count': 'jobs of more than one replica are not run yet',
  'parameter-server-accelerator': 'jobs of more than one replica are not run yet',
  'parameter-server-image-uri': 'custom containers are not run yet',
  'master-image-uri': 'custom containers are not run yet; give --runtime-version and a package',
  'service-account': 'every VM runs as the service account of the deployment',
  'kms-key': 'encryption keys belong to the buckets and images of the deployment',
  'kms-keyring': 'encryption keys belong to the buckets and images of the deployment',
  'kms-location': 'encryption keys belong to the buckets and images of the deployment',
  'kms-project': 'encryption keys belong to the buckets and images of the deployment',
  network: 'the network is part of the deployment',
  'tpu-tf-version': 'there are no TPUs',
};

const REFUSED_SWITCHES: Readonly<Record<string, string>> = {
  'enable-web-access': 'there is no interactive shell',
  'use-chief-in-tf-config': 'it has a meaning for custom containers only, which are not run yet',
};

/** The flags of `gcloud ai-platform jobs submit training`, in gcloud's words. */
export const SUBMIT_FLAGS: readonly Flag[] = [
  { name: 'package-path', value: 'DIR', summary: 'folder of the Python package: it is built and uploaded' },
  { name: 'packages', value: 'LIST', summary: 'more packages by commas: local archives or gs:// addresses' },
  { name: 'config', value: 'FILE', summary: 'a Job resource in YAML or JSON' },
  { name: 'staging-bucket', value: 'GS_BUCKET', summary: 'where packages are uploaded to' },
  { name: 'scale-tier', value: 'TIER', summary: 'the machines', choices: SCALE_TIERS },
  ...FIELD_FLAGS.map(({ field: _field, ...flag }) => flag),
  { name: 'master-accelerator', value: 'count=N,type=TYPE', summary: 'GPUs of the master' },
  { name: 'labels', value: 'KEY=VALUE,…', summary: 'labels of the job' },
  { name: 'stream-logs', summary: 'print the logs until the job ends; ends with 0 only when it has SUCCEEDED' },
  { name: 'dry-run', summary: 'show the job that would be submitted, and do nothing' },
  { name: 'async', summary: 'return at once, as it does anyway' },
  { name: 'project', value: 'PROJECT', summary: "must be the cloud's own" },
  ...Object.entries(REFUSED).map(([name, reason]) => ({ name, value: 'VALUE', summary: `refused: ${reason}` })),
  ...Object.entries(REFUSED_SWITCHES).map(([name, reason]) => ({ name, summary: `refused: ${reason}` })),
];

/** Refuses, before anything is uploaded, what would not be done as it was asked. */
export function refuseFlag({ isSet, flag }: Invocation, projectId: string): void {
  for (const [name, reason] of Object.entries({ ...REFUSED, ...REFUSED_SWITCHES })) {
    if (isSet(name)) {
      throw new UsageFailure(`--${name} cannot be honoured: ${reason}. Leave it out.`);
    }
  }
  if (isSet('async') && isSet('stream-logs')) {
    throw new UsageFailure('--async and --stream-logs exclude each other: give one of them.');
  }
  if (isSet('project') && flag('project') !== projectId) {
    throw new UsageFailure(`--project ${flag('project')} is not this cloud's project ${projectId}: leave it out.`);
  }
}
