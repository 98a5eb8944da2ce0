import { z } from 'zod';
import type { TimestampMs } from '#shared/domain/job.ts';
import { type EventPorts, handleJobEvent } from '#shared/pipeline/handle-job-event.ts';

export type DeadLetter = {
  /** The topic, or the subscription's name, that it was given up on. */
  readonly topic: string;
  readonly messageId: string;
  readonly tries: string;
  readonly body: unknown;
};

const aboutJobSchema = z.object({ jobId: z.string() });

/** A message that no try could handle goes onto its job: one that waited for it fails with the evidence. */
export async function noteDeadLetter(ports: EventPorts, letter: DeadLetter, now: TimestampMs): Promise<void> {
  const about = aboutJobSchema.safeParse(letter.body);
  if (about.success) {
    const { topic, messageId } = letter;
    const problem = `Message ${messageId} of topic ${topic} was given up after ${letter.tries} tries: ${JSON.stringify(letter.body)}`;
    const event = {
      type: 'DELIVERY_EXHAUSTED',
      eventId: `dead-${topic}-${messageId}`,
      at: now,
      topic,
      problem,
    } as const;
    await handleJobEvent(ports, { ...event, jobId: about.data.jobId });
  }
}
