import type { TimestampMs } from '#shared/domain/job.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import type { StartUpload } from '#shared/protocol/submission.ts';
import type { Submission, SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { jobsBucketOf } from '#shared/use-cases/intake/checks/account.ts';
import { digestOf } from '#shared/use-cases/intake/new-job.ts';
import { findRefusal, type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';
import { type PackageToSubmit, readPackage } from '#shared/use-cases/submission/read-package.ts';
import { assemblePackage, keepPackage, keptPackageOf } from '#shared/use-cases/submission/staged-upload.ts';
import { reportUriOf, type Submitter } from '#shared/use-cases/submission/submit-job-file.ts';
import { submissionOf } from '#shared/use-cases/submission/validate-upload.ts';

type UploadToStart = StartUpload & Submitter & { readonly uploadId: string };

/**
 * Starts the job of an uploaded package under the job id that the client chose. Repeating it finds the same job. The
 * package is kept only for a job that will be accepted: this account cannot delete what a refused one would leave.
 * Undefined if a part of the upload is missing.
 */
export async function startUpload(
  ports: SubmitPorts,
  given: UploadToStart,
  now: TimestampMs,
): Promise<SubmitOutcome | undefined> {
  const staged = await assemblePackage(ports, given);
  if (staged === undefined) {
    return undefined;
  }
  const found = await readPackage(ports.objects, staged, given);
  // VMs with an account of their own cannot read the bucket of all other jobs.
  const bucket = jobsBucketOf(ports.intake, found.parsed?.reading.draft?.serviceAccount?.value);
  const target = keptPackageOf(given, { jobId: given.jobId, bucket });
  const kept = await ports.objects.stat(target);
  if (kept === undefined) {
    const candidate = submissionFrom(ports, found, { info: staged, given, now });
    const refusal = candidate === null ? missingJobFile(found, given.jobId) : await findRefusal(ports, candidate);
    if (refusal !== null) {
      return refusal;
    }
  }
  const info = kept ?? (await keepPackage(ports, staged, target));
  const submission = submissionFrom(ports, found, { info, given, now });
  return submission === null ? missingJobFile(found, given.jobId) : submitJob(ports, submission);
}

type Facts = {
  readonly info: ObjectInfo;
  readonly given: UploadToStart;
  readonly now: TimestampMs;
};

/** The submission of the package in this object; null if it has no job file. */
function submissionFrom({ intake }: SubmitPorts, found: PackageToSubmit, facts: Facts): Submission | null {
  const { info, given } = facts;
  const submission = submissionOf(found, facts);
  return (
    submission && {
      ...submission,
      source: {
        uri: submission.source.uri,
        // The same package with another job file is another submission.
        deliveryId: `${info.generation}/${digestOf(submission.job)}`,
        reportUri: reportUriOf(intake, given.jobId),
      },
      submittedBy: given.submittedBy,
    }
  );
}

function missingJobFile({ report }: PackageToSubmit, jobId: string): SubmitOutcome {
  const { problems, warnings } = report;
  return { verdict: 'REFUSED', jobId, problems, warnings };
}
