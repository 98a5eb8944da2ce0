import type { TimestampMs } from '#shared/domain/job.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import type { StartUpload } from '#shared/protocol/submission.ts';
import { jobsBucketOf } from '#shared/use-cases/intake/check-rights.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';
import { type PackageToSubmit, readPackage } from '#shared/use-cases/submission/read-package.ts';
import { assemblePackage, keepPackage } from '#shared/use-cases/submission/staged-upload.ts';
import { digestOf, reportUriOf, type Submitter } from '#shared/use-cases/submission/submit-job-file.ts';
import { submissionOf } from '#shared/use-cases/submission/validate-upload.ts';

/**
 * Starts the job of an uploaded package under the job id that the client chose. Repeating it finds the same job.
 * Undefined if a part of the upload is missing.
 */
export async function startUpload(
  ports: SubmitPorts,
  given: StartUpload & Submitter & { readonly uploadId: string },
  now: TimestampMs,
): Promise<SubmitOutcome | undefined> {
  const staged = await assemblePackage(ports, given);
  if (staged === undefined) {
    return undefined;
  }
  const found = await readPackage(ports.objects, staged, given.jobFile);
  // VMs with an account of their own cannot read the bucket of all other jobs.
  const bucket = jobsBucketOf(ports.intake, accountIn(found.jobFile));
  const info = await keepPackage(ports, staged, { ...given, bucket });
  const inspected = { ...found.inspected, uri: toGsUri(info), generation: info.generation };
  const submission = submissionOf({ ...found, inspected }, { info, given, now });
  if (submission === null) {
    const { problems, warnings } = found.report;
    return { verdict: 'REFUSED', jobId: given.jobId, problems, warnings };
  }
  const source = {
    uri: submission.source.uri,
    // The same package with another job file is another submission.
    deliveryId: `${info.generation}/${digestOf(submission.text)}`,
    reportUri: reportUriOf(ports.intake, given.jobId),
  };
  return submitJob(ports, { ...submission, source, submittedBy: given.submittedBy });
}

/** The service account that a job file names; undefined for the deployment's own. */
function accountIn(jobFile: PackageToSubmit['jobFile']): string | undefined {
  const draft = jobFile && readJobFile(Buffer.from(jobFile.text), { fileName: jobFile.fileName }).draft;
  return draft?.serviceAccount?.value;
}
