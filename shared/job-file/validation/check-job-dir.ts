import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { parseStorageUri, printStorageUri, type StorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { rejectStorageUri, warnOfEmptyPart } from '#shared/job-file/validation/check-storage-uri.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/**
 * The job directory, `gs://bucket/path` without a slash at the end; where none is said, one of the job's own below the
 * deployment's. Null where it is wrong, which is then among the findings, or where the job has no id to name it after.
 */
export function checkJobDir(
  { jobDir }: JobDraft,
  { context, jobId }: { readonly context: JobContext; readonly jobId: string | null },
  findings: Findings,
): string | null {
  if (jobDir === undefined) {
    return jobId === null ? null : `${context.defaults.jobDirBase.replace(/\/$/, '')}/${jobId}`;
  }
  const place = parsePlace(jobDir, findings);
  if (place === null) {
    return null;
  }
  if (place.bucket === context.uploadBucket) {
    const message = `The job directory is in the upload bucket ${place.bucket}, where outputs would be taken for submissions.`;
    const remedy = 'Choose another bucket, or name no job directory.';
    findings.problems.push({ code: 'JOB_DIR_IN_UPLOAD_BUCKET', message, remedy, ...locationOf(jobDir) });
    return null;
  }
  warnOfEmptyPart(jobDir, place, findings);
  return printStorageUri(place);
}

/** A path with a gap in it is legal, but outputs are not meant to land in a folder called `${NAME}`. */
function parsePlace(jobDir: Located<string>, findings: Findings): StorageUri | null {
  const parsed = parseStorageUri(jobDir.value);
  if (!('fault' in parsed) && findPlaceholder(jobDir.value, jobDir.path) === undefined) {
    return parsed;
  }
  const words = {
    code: 'INVALID_JOB_DIR',
    message: `The job directory ${quote(jobDir.value)} ${'fault' in parsed ? parsed.fault : 'holds a placeholder'}.`,
    remedy: 'Write a path in Cloud Storage, such as gs://my-bucket/jobs/first.',
  };
  rejectStorageUri(jobDir, words, findings);
  return null;
}
