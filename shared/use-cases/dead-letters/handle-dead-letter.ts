import * as z from 'zod';
import type { TimestampMs } from '#shared/domain/job.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { withCurrentNames } from '#shared/protocol/renamed-fields.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { storageObjectSchema, tuningMessageSchema } from '#shared/protocol/stage-message.ts';
import { reportUndelivered } from '#shared/use-cases/dead-letters/report-undelivered.ts';
import {
  type ReportUnhandledPorts,
  reportUnhandledMessage,
  reportUnhandledUpload,
} from '#shared/use-cases/dead-letters/report-unhandled.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { handleTuningEvent } from '#shared/use-cases/handle-tuning-event.ts';
import type { ReportTrialPorts } from '#shared/use-cases/tuning/report-trial.ts';

export type DeadLetterPorts = EventPorts & ReportTrialPorts & ReportUnhandledPorts;

export type DeadLetter = {
  /** The topic on which the message could not be handled. */
  readonly topic: string;
  readonly messageId: string;
  /** Number of delivery attempts, or `many` if unknown. */
  readonly tries: string;
  readonly data: Uint8Array;
};

const aboutJobSchema = z.preprocess(
  withCurrentNames,
  z.object({ jobId: z.string(), attempt: z.int().default(0), placementRound: z.int().default(0) }),
);

/**
 * Handles a message that no delivery could: a job or a tuning that it is about gets an event, and fails with the
 * evidence if it waits for that message; the reports of a submission that it is about end. No failure stays invisible
 * to the user.
 */
export async function handleDeadLetter(ports: DeadLetterPorts, letter: DeadLetter, now: TimestampMs): Promise<void> {
  const { topic, messageId, data } = letter;
  if (topic === 'submit') {
    const problem = `The message could not be handled in ${letter.tries} deliveries.`;
    await reportUnhandledMessage(ports, data, problem);
    return;
  }
  const body = parseJson(Buffer.from(data).toString('utf8'));
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
