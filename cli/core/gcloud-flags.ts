import { defineFlag, type Flag, type Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/**
 * A gcloud flag without a counterpart here. `ACCEPTED`: no message, because the behavior is what the flag asks for.
 * `IGNORED`: accepted with a note, because the job is the same without it. `REJECTED`: a usage error, because the
 * request cannot be fulfilled.
 */
type GcloudOnlyFlag = Flag & { readonly treatment: keyof typeof TREATMENTS; readonly reason: string };

const TREATMENTS = { ACCEPTED: 'accepted', IGNORED: 'no effect', REJECTED: 'rejected' } as const;

/** The help text of such a flag states its treatment and the reason. */
const treatedAs =
  (treatment: keyof typeof TREATMENTS) =>
  (usage: string, reason: string): GcloudOnlyFlag => ({
    ...defineFlag(usage, `${TREATMENTS[treatment]}: ${reason}`),
    ...{ treatment, reason },
  });
const accepted = treatedAs('ACCEPTED');
const ignored = treatedAs('IGNORED');
const rejected = treatedAs('REJECTED');

/** Flags common to all gcloud commands (cloud.google.com/sdk/gcloud/reference) that this CLI does not implement. */
const GCLOUD_WIDE_FLAGS: readonly GcloudOnlyFlag[] = [
  { letter: 'q', ...accepted('quiet', 'nothing is asked, as without a terminal') },
  accepted('verbosity LEVEL', 'warnings and errors are always printed'),
  { isValueOptional: true, ...ignored('user-output-enabled BOOLEAN', 'results are always printed') },
  ignored('configuration NAME', 'the cloud is selected by --data-dir or --deployment, not by gcloud configurations'),
  ignored('account ACCOUNT', 'the embedded cloud has no authentication'),
  ignored(
    'impersonate-service-account ACCOUNT',
    'the embedded cloud has no authentication; --service-account selects the account that the job runs as',
  ),
  ignored('access-token-file FILE', 'the embedded cloud has no authentication'),
  ignored('billing-project PROJECT', 'submitting a job uses no API quota'),
  ignored('trace-token TOKEN', 'requests are not traced'),
  ignored('log-http', 'requests are not logged; --dry-run prints the job file'),
  rejected('flags-file FILE', 'flags are read from the command line only'),
  rejected('flatten KEY', 'results are not flattened; use --format=value(FIELD,…)'),
];

const DASHBOARD_ACCESS = ignored('enable-dashboard-access', 'no ports of a running job are exposed');

export const TRAINING_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  {
    isValueOptional: true,
    ...ignored('use-chief-in-tf-config BOOLEAN', 'the master is always called chief in TF_CONFIG'),
  },
  rejected('tpu-tf-version VERSION', 'TPUs are not supported'),
  ...GCLOUD_WIDE_FLAGS,
];

export const CUSTOM_JOB_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  DASHBOARD_ACCESS,
  rejected('persistent-resource-id ID', 'machines are created per job and deleted after it'),
  ...GCLOUD_WIDE_FLAGS,
];

/** The flags of `gcloud ai hp-tuning-jobs create`. */
export const TUNING_JOB_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [DASHBOARD_ACCESS, ...GCLOUD_WIDE_FLAGS];

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
  ignored('region REGION', 'the list includes all regions'),
  accepted('page-size N', 'all pages are fetched and printed together'),
  ...GCLOUD_WIDE_FLAGS,
];

const JOB_GCLOUD_ONLY_FLAGS: readonly GcloudOnlyFlag[] = [
  accepted('region REGION', 'job ids are global'),
  ...GCLOUD_WIDE_FLAGS,
];

const PROJECT = defineFlag('project PROJECT', 'must match the project of the cloud');

/** Additional flags of gcloud's commands that list jobs. */
export const GCLOUD_LIST_FLAGS: readonly Flag[] = [PROJECT, ...LIST_GCLOUD_ONLY_FLAGS];

/** Additional flags of gcloud's commands for one job. */
export const GCLOUD_JOB_FLAGS: readonly Flag[] = [PROJECT, ...JOB_GCLOUD_ONLY_FLAGS];

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
