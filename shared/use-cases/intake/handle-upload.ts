import type { TimestampMs } from '#shared/domain/job.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import type { Submission, SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import {
  classifyUpload,
  folderOf,
  type Upload,
  type UploadedJobFile,
} from '#shared/use-cases/intake/classify-upload.ts';
import { redeliverIfTransient, reportSubmission } from '#shared/use-cases/intake/report-submission.ts';
import { reportedUpload } from '#shared/use-cases/intake/reported-submission.ts';
import { type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';
import { jobIdOfUpload } from '#shared/use-cases/intake/upload-names.ts';

/**
 * Handles an object that was finalized in the upload bucket: classifies it, submits the job files that it brings or
 * completes, and writes each outcome beside its upload. A package that several job files wait for submits them all.
 * Returns the outcomes; none if the object is not a submission.
 */
export async function handleUpload(
  ports: SubmitPorts,
  upload: Upload,
  now: TimestampMs,
): Promise<readonly SubmitOutcome[]> {
  if (upload.bucket !== ports.intake.uploadBucket) {
    return [];
  }
  const classified = await classifyUpload(ports.objects, upload);
  if (classified === undefined) {
    return [];
  }
  if ('jobFiles' in classified) {
    return submitJobFiles(ports, classified.jobFiles, { publishedAt: upload.publishedAt, now });
  }
  const { upload: reported, ...verdict } = classified;
  const outcome: SubmitOutcome = { ...verdict, jobId: null };
  await reportSubmission(ports, reportedUpload(reported), outcome);
  return [outcome];
}

type Times = Pick<Submission, 'publishedAt' | 'now'>;

async function submitJobFiles(
  ports: SubmitPorts,
  jobFiles: readonly UploadedJobFile[],
  times: Times,
): Promise<readonly SubmitOutcome[]> {
  const outcomes: SubmitOutcome[] = [];
  for (const jobFile of jobFiles) {
    const outcome = await submitJob(ports, submissionOf(jobFile, times));
    await reportSubmission(ports, reportedUpload(jobFile.upload), outcome);
    outcomes.push(outcome);
  }
  outcomes.forEach(redeliverIfTransient);
  return outcomes;
}

function submissionOf({ upload, ...jobFile }: UploadedJobFile, times: Times): Submission {
  return {
    ...jobFile,
    packageBase: `gs://${upload.bucket}/${folderOf(upload.name)}`,
    fallbackJobId: jobIdOfUpload(upload.name, upload.generation),
    source: { uri: toGsUri(upload), deliveryId: upload.generation, reportUri: `${toGsUri(upload)}${REPORT_SUFFIX}` },
    ...times,
  };
}
