import type { TimestampMs } from '#shared/domain/job.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import type { StartUpload } from '#shared/protocol/submission.ts';
import type { Submission, SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { jobsBucketOf } from '#shared/use-cases/intake/checks/account.ts';
import { digestOf } from '#shared/use-cases/intake/new-job.ts';
import { type SubmitPorts, submitJob, trySubmission } from '#shared/use-cases/intake/submit-job.ts';
import { readPackage, submissionOf } from '#shared/use-cases/submission/read-package.ts';
import { assemblePackage, keepPackage, keptPackageOf } from '#shared/use-cases/submission/staged-upload.ts';
import { reportUriOf, type Submitter } from '#shared/use-cases/submission/submit-job-file.ts';

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
  const { report, parsed } = await readPackage(ports.objects, staged, given);
  const { jobId, uploadId, submittedBy } = given;
  if (parsed === null) {
    return { verdict: 'REFUSED', jobId, problems: report.problems, warnings: report.warnings };
  }
  const submissionIn = (info: ObjectInfo): Submission => {
    const { source, ...submission } = submissionOf(parsed, { report, info, uploadId }, now);
    // The same package with another job file is another submission.
    const deliveryId = `${info.generation}/${digestOf(parsed.job)}`;
    const reportUri = reportUriOf(ports.intake, jobId);
    return { ...submission, source: { ...source, deliveryId, reportUri }, submittedBy };
  };
  // VMs with an account of their own cannot read the bucket of all other jobs.
  const bucket = jobsBucketOf(ports.intake, parsed.reading.draft?.serviceAccount?.value);
  const target = keptPackageOf(given, { jobId, bucket });
  const kept = await ports.objects.stat(target);
  if (kept === undefined) {
    const outcome = await trySubmission(ports, submissionIn(staged));
    if (outcome.verdict !== 'ACCEPTED') {
      return outcome;
    }
  }
  return submitJob(ports, submissionIn(kept ?? (await keepPackage(ports, staged, target))));
}
