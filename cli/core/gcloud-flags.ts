import type { Flag, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/**
 * A gcloud flag without a counterpart here. `ACCEPTED`: no message, because the behavior is what the flag asks for.
 * `IGNORED`: accepted with a note, because the job is the same without it. `REJECTED`: a usage error, because the
 * request cannot be fulfilled.
 */
export type GcloudOnlyFlag = Omit<Flag, 'summary'> & {
  readonly treatment: 'ACCEPTED' | 'IGNORED' | 'REJECTED';
  readonly reason: string;
};

/** Flags common to all gcloud commands (cloud.google.com/sdk/gcloud/reference) that this CLI does not implement. */
const GCLOUD_WIDE_FLAGS: readonly GcloudOnlyFlag[] = [
  { name: 'quiet', letter: 'q', treatment: 'ACCEPTED', reason: 'there are no prompts' },
  { name: 'verbosity', value: 'LEVEL', treatment: 'ACCEPTED', reason: 'warnings and errors are always printed' },
  {
    name: 'user-output-enabled',
    value: 'BOOLEAN',
    isValueOptional: true,
    treatment: 'IGNORED',
    reason: 'results are always printed',
  },
  {
    name: 'configuration',
    value: 'NAME',
    treatment: 'IGNORED',
    reason: 'the cloud is selected by --data-dir or --deployment, not by gcloud configurations',
  },
  { name: 'account', value: 'ACCOUNT', treatment: 'IGNORED', reason: 'the embedded cloud has no authentication' },
  {
    name: 'impersonate-service-account',
    value: 'ACCOUNT',
    treatment: 'IGNORED',
    reason: 'the embedded cloud has no authentication; --service-account selects the account that the job runs as',
  },
  {
    name: 'access-token-file',
    value: 'FILE',
    treatment: 'IGNORED',
    reason: 'the embedded cloud has no authentication',
  },
  { name: 'billing-project', value: 'PROJECT', treatment: 'IGNORED', reason: 'submitting a job uses no API quota' },
  { name: 'trace-token', value: 'TOKEN', treatment: 'IGNORED', reason: 'requests are not traced' },
  { name: 'log-http', treatment: 'IGNORED', reason: 'requests are not logged; --dry-run prints the job file' },
  { name: 'flags-file', value: 'FILE', treatment: 'REJECTED', reason: 'flags are read from the command line only' },
  {
    name: 'flatten',
    value: 'KEY',
    treatment: 'REJECTED',
    reason: 'results are not flattened; use --format=value(FIELD,…)',
  },
];

const DASHBOARD_ACCESS: GcloudOnlyFlag = {
  name: 'enable-dashboard-access',
  treatment: 'IGNORED',
  reason: 'no ports of a running job are exposed',
};

export const TRAINING_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  {
    name: 'use-chief-in-tf-config',
    value: 'BOOLEAN',
    isValueOptional: true,
    treatment: 'IGNORED',
    reason: 'the master is always called chief in TF_CONFIG',
  },
  { name: 'tpu-tf-version', value: 'VERSION', treatment: 'REJECTED', reason: 'TPUs are not supported' },
  ...GCLOUD_WIDE_FLAGS,
];

export const CUSTOM_JOB_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  DASHBOARD_ACCESS,
  {
    name: 'persistent-resource-id',
    value: 'ID',
    treatment: 'REJECTED',
    reason: 'machines are created per job and deleted after it',
  },
  ...GCLOUD_WIDE_FLAGS,
];

/** The flags of `gcloud ai hp-tuning-jobs create`. */
export const TUNING_JOB_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [DASHBOARD_ACCESS, ...GCLOUD_WIDE_FLAGS];

const TREATMENTS = { ACCEPTED: 'accepted', IGNORED: 'no effect', REJECTED: 'rejected' } as const;

/** Converts to a flag whose help text states the treatment and its reason. */
export function toFlag({ treatment, reason, ...flag }: GcloudOnlyFlag): Flag {
  return { ...flag, summary: `${TREATMENTS[treatment]}: ${reason}` };
}

/** Returns a note per ignored flag. Throws UsageFailure for a rejected flag; call before anything is uploaded. */
export function checkGcloudOnlyFlags(flags: readonly GcloudOnlyFlag[], { isSet }: Invocation): readonly Problem[] {
  const given = flags.filter(({ name }) => isSet(name));
  const rejected = given.find(({ treatment }) => treatment === 'REJECTED');
  if (rejected !== undefined) {
    throw new UsageFailure(`--${rejected.name} is not supported: ${rejected.reason}. Remove the flag.`);
  }
  return given
    .filter(({ treatment }) => treatment === 'IGNORED')
    .map(({ name, reason }) => ({
      code: 'FLAG_WITHOUT_EFFECT',
      message: `--${name} has no effect: ${reason}.`,
      remedy: 'Remove the flag.',
      path: `--${name}`,
    }));
}

const LIST_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  { name: 'region', value: 'REGION', treatment: 'IGNORED', reason: 'the list includes all regions' },
  { name: 'page-size', value: 'N', treatment: 'ACCEPTED', reason: 'all pages are fetched and printed together' },
  ...GCLOUD_WIDE_FLAGS,
];

const JOB_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  { name: 'region', value: 'REGION', treatment: 'ACCEPTED', reason: 'job ids are global' },
  ...GCLOUD_WIDE_FLAGS,
];

const PROJECT: Flag = { name: 'project', value: 'PROJECT', summary: 'must match the project of the cloud' };

/** Additional flags of gcloud's commands that list jobs. */
export const GCLOUD_LIST_FLAGS: readonly Flag[] = [PROJECT, ...LIST_GCLOUD_ONLY_FLAGS.map(toFlag)];

/** Additional flags of gcloud's commands for one job. */
export const GCLOUD_JOB_FLAGS: readonly Flag[] = [PROJECT, ...JOB_GCLOUD_ONLY_FLAGS.map(toFlag)];

/** Rejects unsupported flags and prints a note per ignored flag. Call before any request is sent. */
export function checkJobFlags(invocation: Invocation, { projectId }: { readonly projectId: string }): void {
  rejectOtherProject(invocation, projectId);
  const isList = invocation.operands.length === 0;
  for (const { message } of checkGcloudOnlyFlags(isList ? LIST_GCLOUD_ONLY_FLAGS : JOB_GCLOUD_ONLY_FLAGS, invocation)) {
    invocation.io.stderr.write(`${message}\n`);
  }
}

export function rejectOtherProject({ flag }: Invocation, projectId: string): void {
  const project = flag('project');
  if (project !== undefined && project !== projectId) {
    throw new UsageFailure(`--project ${project} does not match the cloud's project ${projectId}. Remove the flag.`);
  }
}
