import type { JobSpec } from '#shared/domain/job-spec.ts';
import { containsUserFolders, isInUserFolder, userFolderOf } from '#shared/domain/user-folder.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { locationOf } from '#shared/job-file/parser/findings.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/report.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/intake-settings.ts';

type Submitted = {
  readonly submittedBy?: string | null | undefined;
  readonly intake: Pick<IntakeSettings, 'hasUserFolders'>;
};

/**
 * Where users have folders: whether the job directory is in that of its submitter, in whatever bucket. Otherwise the
 * files of another user's job would be read, restored and overwritten as those of this one. Submissions without a known
 * submitter come from operators, who may use any directory but one that contains those of all users.
 */
export function checkUserFolder(
  draft: JobDraft,
  { jobDir }: JobSpec,
  { submittedBy = null, intake }: Submitted,
): readonly Problem[] {
  const location = draft.jobDir === undefined ? {} : locationOf(draft.jobDir);
  if (intake.hasUserFolders !== true) {
    return [];
  }
  if (submittedBy === null) {
    const message = `The job directory ${jobDir} contains the job directories of all users.`;
    const remedy = 'Choose another job directory, or another job id if none is set.';
    return containsUserFolders(jobDir) ? [{ code: 'JOB_DIR_OF_ALL_USERS', message, remedy, ...location }] : [];
  }
  if (isInUserFolder(jobDir, submittedBy)) {
    return [];
  }
  const { bucket } = parseGsUri(jobDir);
  const message = `The job directory ${jobDir} is not in the folder ${userFolderOf(submittedBy)}/ of its submitter, so it can be that of another user's job.`;
  const remedy = `Leave the job directory out, or use one in gs://${bucket}/${userFolderOf(submittedBy)}/ (docs/own-jobs.md).`;
  return [{ code: 'JOB_DIR_OF_OTHER_USER', message, remedy, ...location }];
}
