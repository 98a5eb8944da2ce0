import type { TimestampMs } from '#shared/domain/job.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import type { SubmitJobFile } from '#shared/protocol/submission.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { digestOf } from '#shared/use-cases/intake/new-job.ts';
import { parseJob } from '#shared/use-cases/intake/parsed-job.ts';
import { type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';

/** The e-mail address of the caller, that a signature has proven; null if none did. */
export type Submitter = { readonly submittedBy: string | null };

/** Starts a job from a job file whose packages are in a bucket. Repeating it finds the same job. */
export async function submitJobFile(
  ports: SubmitPorts,
  { submittedBy, ...job }: SubmitJobFile & Submitter,
  now: TimestampMs,
): Promise<SubmitOutcome> {
  const { jobId } = job;
  return submitJob(ports, {
    ...parseJob(job),
    packageBase: `gs://${ports.intake.uploadBucket}/`,
    enclosingPackage: null,
    fallbackJobId: jobId,
    source: { uri: `api://jobs/${jobId}`, deliveryId: digestOf(job), reportUri: reportUriOf(ports.intake, jobId) },
    submittedBy,
    now,
  });
}

/** The report of a job that was submitted through the API, as of one that was submitted by a message. */
export function reportUriOf({ uploadBucket }: { readonly uploadBucket: string }, jobId: string): string {
  return `gs://${uploadBucket}/submitted/${jobId}${REPORT_SUFFIX}`;
}
