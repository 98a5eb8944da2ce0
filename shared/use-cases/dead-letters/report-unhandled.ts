import type { Logger } from '#shared/observability/logger.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Report } from '#shared/protocol/report.ts';
import type { StorageObject } from '#shared/protocol/stage-message.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { findWaitingJobFiles } from '#shared/use-cases/intake/classify-upload.ts';
import { publishRefusal } from '#shared/use-cases/intake/publish-refusal.ts';
import {
  type ReportedSubmission,
  reportedMessage,
  reportedUpload,
} from '#shared/use-cases/intake/reported-submission.ts';
import { listFailedMessages } from '#shared/use-cases/intake/submit-message.ts';
import { isNewer, updateReport } from '#shared/use-cases/intake/update-report.ts';
import { logVerdict } from '#shared/use-cases/log-lines.ts';

export type ReportUnhandledPorts = {
  readonly objects: ObjectStore;
  readonly bus: MessageBus;
  readonly logger: Logger;
  readonly intake: Pick<IntakeSettings, 'uploadBucket'>;
};

/**
 * Ends the reports of an upload that no delivery could handle: its own, or those of the job files that it completes. If
 * this process dies before a refusal is announced, the redelivery writes the same report and announces it.
 */
export async function reportUnhandledUpload(
  ports: ReportUnhandledPorts,
  upload: StorageObject,
  message: string,
): Promise<void> {
  if (upload.bucket !== ports.intake.uploadBucket) {
    return;
  }
  const completed = await findWaitingJobFiles(ports.objects, upload);
  const ended = await Promise.all(
    completed.map((jobFile) => refuse(ports, reportedUpload(jobFile.upload), withoutWait)),
  );
  if (ended.includes(true)) {
    return;
  }
  const { generation } = upload;
  const submission = reportedUpload(upload);
  // A report on this generation is more specific and stays, unless it says that the upload waits for a registry.
  await refuse(ports, submission, (current) => {
    const isFirst = current === undefined || isNewer(generation, current.generation ?? '0');
    return isFirst ? unhandled(submission, message, 'Upload it') : withoutWait(current, submission);
  });
}

/** The same for a message of the submit topic, of which the dead letter has the data only. */
export async function reportUnhandledMessage(
  ports: ReportUnhandledPorts,
  data: Uint8Array,
  message: string,
): Promise<void> {
  const bucket = ports.intake.uploadBucket;
  for (const messageId of await listFailedMessages(ports.objects, { bucket, data })) {
    const submission = reportedMessage(bucket, messageId);
    await refuse(ports, submission, (current) =>
      current === undefined ? unhandled(submission, message, 'Publish it') : withoutWait(current, submission),
    );
  }
}

/** Writes and announces the refusal that `render` returns; returns whether there is one. */
async function refuse(
  ports: ReportUnhandledPorts,
  submission: ReportedSubmission,
  render: (current: Report | undefined, submission: ReportedSubmission) => Report | null,
): Promise<boolean> {
  const { reportObject, generation } = submission;
  // It is assigned in a function, which the type check does not follow.
  let refusal = null as Report | null;
  await updateReport(ports.objects, { reportObject, generation, acceptedJobId: null }, async (current) => {
    refusal = render(current, submission);
    return refusal;
  });
  if (refusal === null) {
    return false;
  }
  await publishRefusal(ports, submission, refusal);
  logVerdict(ports.logger, { verdict: refusal.verdict, jobId: refusal.jobId, source: submission.source });
  return true;
}

function unhandled({ source }: ReportedSubmission, message: string, submitIt: string): Report {
  const remedy = `${submitIt} again. If it fails again, report this message to the operator of the deployment.`;
  const problems = [{ code: 'INTERNAL_ERROR', message, remedy }];
  return { verdict: 'REFUSED', source, jobId: null, problems, warnings: [], job: null };
}

/** The report as a refusal if it waits for a registry, or waited and became one here; null if it does not. */
function withoutWait(report: Report | undefined, { generation }: ReportedSubmission): Report | null {
  const isOfRegistry = ({ code }: Problem) => code === 'REGISTRY_UNAVAILABLE';
  const isCurrent = report !== undefined && report.generation === generation;
  // A job file that also waits for a package is submitted again when that arrives.
  if (!isCurrent || report.verdict === 'ACCEPTED' || !report.problems.every(isOfRegistry)) {
    return null;
  }
  const problems = report.problems.map((problem) => ({ ...problem, remedy: REGISTRY_STAYS_DOWN }));
  return { ...report, verdict: 'REFUSED', problems };
}

const REGISTRY_STAYS_DOWN =
  'It was tried several times and is not tried any more. Submit the job again when the registry answers, or use an image of another registry.';
