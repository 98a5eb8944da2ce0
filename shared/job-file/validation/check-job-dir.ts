import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { parseStorageUri, printStorageUri, type StorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { rejectStorageUri, warnOfEmptyPart } from '#shared/job-file/validation/check-storage-uri.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { didYouMeanUri } from '#shared/protocol/gs-uri.ts';

/**
 * The job directory, `gs://bucket/path` without a trailing slash; by default a folder with the job's id in the
 * deployment's directory. Null if it is invalid, or if the default needs an id that is missing.
 */
export function checkJobDir(
  { jobDir }: JobDraft,
  { context, jobId }: { readonly context: JobContext; readonly jobId: string | null },
  findings: Findings,
): string | null {
  if (jobDir === undefined) {
    return jobId === null ? null : `${context.defaults.jobDirBase.replace(/\/$/, '')}/${jobId}`;
  }
  const uri = parseJobDir(jobDir, findings);
  if (uri === null) {
    return null;
  }
  if (uri.bucket === context.uploadBucket) {
    const message = `The job directory is in the upload bucket ${uri.bucket}, where outputs would be handled as submissions.`;
    const remedy = 'Choose another bucket, or remove the job directory.';
    findings.problems.push({ code: 'JOB_DIR_IN_UPLOAD_BUCKET', message, remedy, ...locationOf(jobDir) });
    return null;
  }
  warnOfEmptyPart(jobDir, uri, findings);
  return printStorageUri(uri);
}

/** A placeholder is valid in a path, but outputs are not intended for a folder named `${NAME}`. */
function parseJobDir(jobDir: Located<string>, findings: Findings): StorageUri | null {
  const parsed = parseStorageUri(jobDir.value);
  if (!('fault' in parsed) && findPlaceholder(jobDir.value, jobDir.path) === undefined) {
    return parsed;
  }
  const text = {
    code: 'INVALID_JOB_DIR',
    message: `The job directory ${quote(jobDir.value)} ${'fault' in parsed ? parsed.fault : 'contains a placeholder'}.`,
    remedy: `Write a Cloud Storage path, such as gs://my-bucket/jobs/first.${didYouMeanUri(jobDir.value)}`,
  };
  rejectStorageUri(jobDir, text, findings);
  return null;
}
