import type { Flag, Invocation } from '#cli/command.ts';
import { type ForeignFlag, GCLOUD_WIDE_FLAGS, judgeForeignFlags, toFlag } from '#cli/submission/foreign-flags.ts';
import { refuseOtherProject } from '#cli/submission/submit-flags.ts';

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
