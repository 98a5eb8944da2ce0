import type { TimestampMs } from '#shared/domain/job.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { reportSubmission } from '#shared/use-cases/intake/report-submission.ts';
import { type SubmitOutcome, type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';
import { updateReport } from '#shared/use-cases/reports/update-report.ts';

export type SubmitMessage = { readonly messageId: string; readonly data: Uint8Array };

/**
 * Submits a job file that was published on the submit topic. If it is not accepted, the report is
 * `submitted/MESSAGE_ID.report.json` in the upload bucket.
 */
export async function handleSubmitMessage(
  ports: SubmitPorts,
  { messageId, data }: SubmitMessage,
  now: TimestampMs,
): Promise<SubmitOutcome> {
  const { uploadBucket } = ports.intake;
  const beside = { bucket: uploadBucket, name: `submitted/${messageId}${REPORT_SUFFIX}` };
  const source = { uri: `pubsub://submit/${messageId}`, deliveryId: messageId, reportUri: toGsUri(beside) };
  const outcome = await submitJob(ports, {
    text: data,
    fileName: 'the message',
    packageBase: `gs://${uploadBucket}/`,
    enclosingPackage: null,
    fallbackJobId: `job_${messageId}`,
    source,
    now,
  });
  if (outcome.verdict !== 'ACCEPTED') {
    await reportSubmission(ports, { source: source.uri, beside, generation: undefined }, outcome);
  } else {
    await reportDuplicate(ports, { beside, source, jobId: outcome.jobId });
  }
  return outcome;
}

type Duplicate = {
  readonly beside: ObjectName;
  readonly source: { readonly uri: string; readonly reportUri: string };
  readonly jobId: string;
};

/**
 * Reports that a message repeated an earlier submission, such as one that its publisher sent again because the answer
 * was lost. The job's updates go to the report of the earlier one, so that otherwise this message would have none.
 */
async function reportDuplicate(ports: SubmitPorts, { beside, source, jobId }: Duplicate): Promise<void> {
  const job = (await ports.jobs.read(jobId))?.job;
  if (job === undefined || job.source.reportUri === source.reportUri) {
    return;
  }
  const subject = { beside, generation: undefined, acceptedJobId: jobId };
  await updateReport(ports.objects, subject, async (present) =>
    present === undefined
      ? { verdict: 'ACCEPTED', source: source.uri, jobId, problems: [], warnings: [...job.warnings], job: null }
      : null,
  );
}
