import type { TimestampMs } from '#shared/domain/job.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { reportSubmission } from '#shared/use-cases/intake/report-submission.ts';
import { type SubmitOutcome, type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';

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
  }
  return outcome;
}
