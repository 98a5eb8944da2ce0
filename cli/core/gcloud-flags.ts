import type { Flag, Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import type { Problem } from '#shared/protocol/report.ts';

/**
 * A flag of gcloud that has no meaning here: `TAKEN` in silence where nothing else happens than was asked for, `NOTED`
 * where the job is the same without it, `REFUSED` where to take it would be a lie.
 */
export type ForeignFlag = Omit<Flag, 'summary'> & {
  readonly treatment: 'TAKEN' | 'NOTED' | 'REFUSED';
  readonly because: string;
};

/** The flags that every command of gcloud has (cloud.google.com/sdk/gcloud/reference), but for those of this CLI. */
export const GCLOUD_WIDE_FLAGS: readonly ForeignFlag[] = [
  { name: 'quiet', letter: 'q', treatment: 'TAKEN', because: 'nothing is ever asked' },
  { name: 'verbosity', value: 'LEVEL', treatment: 'TAKEN', because: 'what matters is always shown' },
  {
    name: 'user-output-enabled',
    value: 'BOOLEAN',
    isValueOptional: true,
    treatment: 'NOTED',
    because: 'results are always printed',
  },
  {
    name: 'configuration',
    value: 'NAME',
    treatment: 'NOTED',
    because: 'the cloud is found by --data-dir, not by the configurations of gcloud',
  },
  { name: 'account', value: 'ACCOUNT', treatment: 'NOTED', because: 'nobody signs in to the embedded cloud' },
  {
    name: 'impersonate-service-account',
    value: 'ACCOUNT',
    treatment: 'NOTED',
    because: 'nobody signs in to the embedded cloud; --service-account says what the job runs as',
  },
  { name: 'access-token-file', value: 'FILE', treatment: 'NOTED', because: 'nobody signs in to the embedded cloud' },
  { name: 'billing-project', value: 'PROJECT', treatment: 'NOTED', because: 'submitting uses up no quota' },
  { name: 'trace-token', value: 'TOKEN', treatment: 'NOTED', because: 'no request goes to Google' },
  { name: 'log-http', treatment: 'NOTED', because: 'requests are not logged; --dry-run shows the job file' },
  { name: 'flags-file', value: 'FILE', treatment: 'REFUSED', because: 'flags are read from the command line alone' },
  { name: 'flatten', value: 'KEY', treatment: 'REFUSED', because: 'results are printed whole, as text or as JSON' },
];

const WEB_ACCESS: ForeignFlag = {
  name: 'enable-web-access',
  treatment: 'NOTED',
  because: 'there is no shell into a running job; its log can be followed while it runs',
};

export const TRAINING_FOREIGN_FLAGS: readonly ForeignFlag[] = [
  WEB_ACCESS,
  {
    name: 'use-chief-in-tf-config',
    value: 'BOOLEAN',
    isValueOptional: true,
    treatment: 'NOTED',
    because: 'the master is always called chief in TF_CONFIG',
  },
  { name: 'tpu-tf-version', value: 'VERSION', treatment: 'REFUSED', because: 'there are no TPUs' },
  ...GCLOUD_WIDE_FLAGS,
];

export const CUSTOM_JOB_FOREIGN_FLAGS: readonly ForeignFlag[] = [
  WEB_ACCESS,
  { name: 'enable-dashboard-access', treatment: 'NOTED', because: 'no ports of a running job are opened' },
  {
    name: 'persistent-resource-id',
    value: 'ID',
    treatment: 'REFUSED',
    because: 'machines are made for a job and removed after it',
  },
  ...GCLOUD_WIDE_FLAGS,
];

const TREATMENTS = { TAKEN: 'as it is anyway', NOTED: 'without effect', REFUSED: 'refused' } as const;

/** For the help, which says of each what becomes of it. */
export function toFlag({ treatment, because, ...flag }: ForeignFlag): Flag {
  return { ...flag, summary: `${TREATMENTS[treatment]}: ${because}` };
}

/** Refuses, before anything is uploaded, what would not be done as it was asked; the answer is what has no effect. */
export function judgeForeignFlags(flags: readonly ForeignFlag[], { isSet }: Invocation): readonly Problem[] {
  const given = flags.filter(({ name }) => isSet(name));
  const refused = given.find(({ treatment }) => treatment === 'REFUSED');
  if (refused !== undefined) {
    throw new UsageFailure(`--${refused.name} cannot be honoured: ${refused.because}. Leave it out.`);
  }
  return given
    .filter(({ treatment }) => treatment === 'NOTED')
    .map(({ name, because }) => ({
      code: 'FLAG_WITHOUT_EFFECT',
      message: `--${name} has no effect: ${because}.`,
      remedy: 'It can be left out.',
      path: `--${name}`,
    }));
}

const LIST_FOREIGN_FLAGS: readonly ForeignFlag[] = [
  { name: 'region', value: 'REGION', treatment: 'NOTED', because: 'jobs of all regions are in one list' },
  { name: 'page-size', value: 'N', treatment: 'TAKEN', because: 'all pages are printed as one' },
  { name: 'sort-by', value: 'FIELD', treatment: 'REFUSED', because: 'the newest job always comes first' },
  ...GCLOUD_WIDE_FLAGS,
];

const JOB_FOREIGN_FLAGS: readonly ForeignFlag[] = [
  { name: 'region', value: 'REGION', treatment: 'TAKEN', because: 'a job has its id in all regions' },
  ...GCLOUD_WIDE_FLAGS,
];

const PROJECT: Flag = { name: 'project', value: 'PROJECT', summary: "must be the cloud's own" };

/** What gcloud's commands for a list of jobs take besides. */
export const GCLOUD_LIST_FLAGS: readonly Flag[] = [PROJECT, ...LIST_FOREIGN_FLAGS.map(toFlag)];

/** What gcloud's commands for one job take besides. */
export const GCLOUD_JOB_FLAGS: readonly Flag[] = [PROJECT, ...JOB_FOREIGN_FLAGS.map(toFlag)];

/** Refuses what would not be done as it was asked, and says what has no effect. To be called before anything is done. */
export function judgeJobFlags(invocation: Invocation, { projectId }: { readonly projectId: string }): void {
  refuseOtherProject(invocation, projectId);
  const isList = invocation.operands.length === 0;
  for (const { message } of judgeForeignFlags(isList ? LIST_FOREIGN_FLAGS : JOB_FOREIGN_FLAGS, invocation)) {
    invocation.io.stderr.write(`${message}\n`);
  }
}

export function refuseOtherProject({ flag }: Invocation, projectId: string): void {
  const project = flag('project');
  if (project !== undefined && project !== projectId) {
    throw new UsageFailure(`--project ${project} is not this cloud's project ${projectId}: leave it out.`);
  }
}
