import type { TimestampMs } from '#shared/domain/job.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { reportRefusal } from '#shared/use-cases/intake/handle-upload.ts';
import { type SubmitOutcome, type SubmitPorts, submitJob } from '#shared/use-cases/intake/submit-job.ts';

export type SubmitMessage = { readonly messageId: string; readonly data: Uint8Array };

/** Takes a job file that was published on the submit topic. Its report is `submitted/MESSAGE_ID.report.json` in the upload bucket. */
export async function handleSubmitMessage(
  ports: SubmitPorts,
  message: SubmitMessage,
  now: TimestampMs,
): Promise<SubmitOutcome> {
  const { uploadBucket } = ports.intake;
  const report = { bucket: uploadBucket, name: `submitted/${message.messageId}${REPORT_SUFFIX}` };
  const source = {
    uri: `pubsub://submit/${message.messageId}`,
    deliveryId: message.messageId,
    reportUri: toGsUri(report),
  };
  const outcome = await submitJob(ports, {
    text: message.data,
    fileName: 'the message',
    packageBase: `gs://${uploadBucket}/`,
    enclosingPackage: null,
    fallbackJobId: `job_${message.messageId}`,
    source,
    now,
  });
  if (outcome.verdict !== 'ACCEPTED') {
    await reportRefusal(ports, report, { source: source.uri, outcome });
  }
  return outcome;
}
