import { z } from 'zod';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { withCurrentNames } from '#shared/protocol/renamed-fields.ts';
import { type Problem, REPORT_SUFFIX, type Report } from '#shared/protocol/report.ts';
import { type StorageObject, storageObjectSchema, tuningMessageSchema } from '#shared/protocol/stage-message.ts';
import { reportUndelivered } from '#shared/use-cases/dead-letters/report-undelivered.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { handleTuningEvent } from '#shared/use-cases/handle-tuning-event.ts';
import { publishRefusal } from '#shared/use-cases/intake/publish-refusal.ts';
import { isNewer, updateReport } from '#shared/use-cases/reports/update-report.ts';
import type { ReportTrialPorts } from '#shared/use-cases/tuning/report-trial.ts';

export type DeadLetterPorts = EventPorts & ReportTrialPorts & { readonly objects: ObjectStore };

export type DeadLetter = {
  /** The topic on which the message could not be handled. */
  readonly topic: string;
  readonly messageId: string;
  /** Number of delivery attempts, or `many` if unknown. */
  readonly tries: string;
  readonly body: unknown;
};

const aboutJobSchema = z.preprocess(
  withCurrentNames,
  z.object({ jobId: z.string(), attempt: z.int().default(0), placementRound: z.int().default(0) }),
);

/**
 * Handles a message that no delivery could: a job or a tuning that it is about gets an event, and fails with the
 * evidence if it waits for that message; an upload that it is about gets a report. No failure stays invisible to the
 * user.
 */
export async function handleDeadLetter(ports: DeadLetterPorts, letter: DeadLetter, now: TimestampMs): Promise<void> {
  const { topic, messageId, body } = letter;
  const problem = `Message ${messageId} of topic ${topic} could not be handled in ${letter.tries} deliveries: ${JSON.stringify(body)}`;
  const eventId = `dead-${topic}-${messageId}`;
  const step = tuningMessageSchema.safeParse(body);
  const about = aboutJobSchema.safeParse(body);
  if (step.success) {
    const { type: messageType, tuningId } = step.data;
    const ordinal = 'ordinal' in step.data ? step.data.ordinal : null;
    const from = 'from' in step.data ? step.data.from : null;
    const event = { eventId, tuningId, at: now, messageType, ordinal, from, problem };
    await handleTuningEvent(ports, { type: 'DELIVERY_EXHAUSTED', ...event });
    if (ordinal !== null && messageType !== 'REPORT_RUNG') {
      await reportUndelivered(ports, { tuningId, ordinal, problem }, now);
    }
  } else if (about.success) {
    await handleJobEvent(ports, { type: 'DELIVERY_EXHAUSTED', eventId, at: now, topic, problem, ...about.data });
  }
  const upload = storageObjectSchema.safeParse(body);
  if (topic === 'uploads' && upload.success && !upload.data.name.endsWith(REPORT_SUFFIX)) {
    await reportUnhandledUpload(ports, upload.data, problem);
  }
}

/**
 * Writes the report beside the upload. A report on this generation is more specific and stays, unless it says that the
 * upload waits for a registry: no further delivery comes. If this process dies before the refusal is announced, the
 * redelivery writes the same report and announces it.
 */
async function reportUnhandledUpload(ports: DeadLetterPorts, upload: StorageObject, message: string): Promise<void> {
  const { generation } = upload;
  const reportObject = { bucket: upload.bucket, name: `${upload.name}${REPORT_SUFFIX}` };
  const source = toGsUri(upload);
  let refusal: Report | null = null;
  await updateReport(ports.objects, { reportObject, generation, acceptedJobId: null }, async (current) => {
    const isFirst = current === undefined || isNewer(generation, current.generation ?? '0');
    refusal = isFirst
      ? { verdict: 'REFUSED', source, jobId: null, problems: [unhandled(message)], warnings: [], job: null }
      : current.generation === generation
        ? withoutWait(current)
        : null;
    return refusal;
  });
  if (refusal !== null) {
    await publishRefusal(ports, { source, reportObject, generation }, refusal);
  }
}

function unhandled(message: string): Problem {
  const remedy = 'Upload it again. If it fails again, report this message to the operator of the deployment.';
  return { code: 'INTERNAL_ERROR', message, remedy };
}

/** The report as a refusal if it waits for a registry, or waited and became one here; null if it does not. */
function withoutWait(report: Report): Report | null {
  const isOfRegistry = ({ code }: Problem) => code === 'REGISTRY_UNAVAILABLE';
  if (report.verdict === 'ACCEPTED' || !report.problems.some(isOfRegistry)) {
    return null;
  }
  const problems = report.problems.map((problem) =>
    isOfRegistry(problem) ? { ...problem, remedy: REGISTRY_STAYS_DOWN } : problem,
  );
  return { ...report, verdict: 'REFUSED', problems };
}

const REGISTRY_STAYS_DOWN =
  'It was tried several times and is not tried any more. Upload the job again when the registry answers, or use an image of another registry.';
