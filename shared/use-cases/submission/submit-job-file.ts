import { createHash } from 'node:crypto';
import type { TimestampMs } from '#shared/domain/job.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import type { SubmitJobFile } from '#shared/protocol/submission.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';

/** The e-mail address of the caller, that a signature has proven; null if none did. */
export type Submitter = { readonly submittedBy: string | null };

/** Starts a job from a job file whose packages are in a bucket. Repeating it finds the same job. */
export async function submitJobFile(
  ports: SubmitPorts,
  { jobFile, jobId, submittedBy }: SubmitJobFile & Submitter,
  now: TimestampMs,
): Promise<SubmitOutcome> {
  return submitJob(ports, {
    text: Buffer.from(jobFile),
    fileName: 'job.yaml',
    packageBase: `gs://${ports.intake.uploadBucket}/`,
    enclosingPackage: null,
    fallbackJobId: jobId,
    jobId,
    source: { uri: `api://jobs/${jobId}`, deliveryId: digestOf(jobFile), reportUri: reportUriOf(ports.intake, jobId) },
    submittedBy,
    now,
  });
}

/** Another job file under the same id is another submission, which is rejected. */
export function digestOf(jobFile: string | Uint8Array): string {
  return createHash('sha256').update(jobFile).digest('hex');
}

/** The report of a job that was submitted through the API, as of one that was submitted by a message. */
export function reportUriOf({ uploadBucket }: { readonly uploadBucket: string }, jobId: string): string {
  return `gs://${uploadBucket}/submitted/${jobId}${REPORT_SUFFIX}`;
}
