import type { TimestampMs } from '#shared/domain/job.ts';
import { readSubmitted } from '#shared/ports/read-submitted.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { readSentJob } from '#shared/protocol/job-text.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { parseJob } from '#shared/use-cases/intake/parsed-job.ts';
import { redeliverIfTransient, reportSubmission } from '#shared/use-cases/intake/report-submission.ts';
import { type ReportedSubmission, reportedMessage } from '#shared/use-cases/intake/reported-submission.ts';
import { type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';
import { recordFailedDelivery, type SubmitMessage } from '#shared/use-cases/intake/submit-message.ts';
import { updateReport } from '#shared/use-cases/intake/update-report.ts';

/**
 * Submits a job file that was published on the submit topic. If it is not accepted, the report is
 * `submitted/MESSAGE_ID.report.json` in the upload bucket. Throws if it is redelivered; its dead letter ends the report.
 */
export async function handleSubmitMessage(
  ports: SubmitPorts,
  message: SubmitMessage,
  now: TimestampMs,
): Promise<SubmitOutcome> {
  try {
    return await submitMessage(ports, message, now);
  } catch (error) {
    await recordFailedDelivery(ports.objects, { ...message, bucket: ports.intake.uploadBucket });
    throw error;
  }
}

async function submitMessage(
  ports: SubmitPorts,
  { messageId, data, publishedAt }: SubmitMessage,
  now: TimestampMs,
): Promise<SubmitOutcome> {
  const { uploadBucket } = ports.intake;
  const reported = reportedMessage(uploadBucket, messageId);
  const { source: uri, reportObject } = reported;
  const outcome = await submitJob(ports, {
    ...parseJob(readSentJob(data, 'the message')),
    packageBase: `gs://${uploadBucket}/`,
    enclosingPackage: null,
    fallbackJobId: `job_${messageId}`,
    source: { uri, deliveryId: messageId, reportUri: toGsUri(reportObject) },
    publishedAt,
    now,
  });
  if (outcome.verdict !== 'ACCEPTED') {
    await reportSubmission(ports, reported, outcome);
    redeliverIfTransient(outcome);
  } else {
    await reportDuplicate(ports, reported, outcome.jobId);
  }
  return outcome;
}

/**
 * Reports that a message repeated an earlier submission, such as one that its publisher sent again because the answer
 * was lost. The job's updates go to the report of the earlier one. Without this, the message would have no report.
 */
async function reportDuplicate(
  ports: SubmitPorts,
  { source, reportObject, generation }: ReportedSubmission,
  jobId: string,
): Promise<void> {
  const submitted = await readSubmitted(ports, jobId);
  if (submitted === undefined || submitted.source.reportUri === toGsUri(reportObject)) {
    return;
  }
  const warnings = [...submitted.warnings];
  await updateReport(ports.objects, { reportObject, generation, acceptedJobId: jobId }, async (current) =>
    current === undefined ? { verdict: 'ACCEPTED', source, jobId, problems: [], warnings, job: null } : null,
  );
}
