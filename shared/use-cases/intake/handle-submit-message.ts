import type { TimestampMs } from '#shared/domain/job.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { readSubmitted } from '#shared/ports/read-submitted.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { readSentJob } from '#shared/protocol/job-text.ts';
import type { SubmitOutcome } from '#shared/use-cases/intake/check-submission.ts';
import { parseJob } from '#shared/use-cases/intake/parsed-job.ts';
import { redeliverIfTransient, reportSubmission } from '#shared/use-cases/intake/report-submission.ts';
import { type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';
import {
  recordFailedDelivery,
  reportObjectOfMessage,
  type SubmitMessage,
  uriOfMessage,
} from '#shared/use-cases/intake/submit-message.ts';
import { updateReport } from '#shared/use-cases/reports/update-report.ts';

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
  const reportObject = reportObjectOfMessage(uploadBucket, messageId);
  const source = { uri: uriOfMessage(messageId), deliveryId: messageId, reportUri: toGsUri(reportObject) };
  const outcome = await submitJob(ports, {
    ...parseJob(readSentJob(data, 'the message')),
    packageBase: `gs://${uploadBucket}/`,
    enclosingPackage: null,
    fallbackJobId: `job_${messageId}`,
    source,
    publishedAt,
    now,
  });
  if (outcome.verdict !== 'ACCEPTED') {
    await reportSubmission(ports, { source: source.uri, reportObject, generation: undefined }, outcome);
    redeliverIfTransient(outcome);
  } else {
    await reportDuplicate(ports, { reportObject, source, jobId: outcome.jobId });
  }
  return outcome;
}

type Duplicate = {
  readonly reportObject: ObjectName;
  readonly source: { readonly uri: string; readonly reportUri: string };
  readonly jobId: string;
};

/**
 * Reports that a message repeated an earlier submission, such as one that its publisher sent again because the answer
 * was lost. The job's updates go to the report of the earlier one. Without this, the message would have no report.
 */
async function reportDuplicate(ports: SubmitPorts, { reportObject, source, jobId }: Duplicate): Promise<void> {
  const submitted = await readSubmitted(ports, jobId);
  if (submitted === undefined || submitted.source.reportUri === source.reportUri) {
    return;
  }
  const warnings = [...submitted.warnings];
  const subject = { reportObject, generation: undefined, acceptedJobId: jobId };
  await updateReport(ports.objects, subject, async (current) =>
    current === undefined
      ? { verdict: 'ACCEPTED', source: source.uri, jobId, problems: [], warnings, job: null }
      : null,
  );
}
