import { z } from 'zod';
import type { TimestampMs } from '#shared/domain/job.ts';
import { toGsUri } from '#shared/pipeline/gs-uri.ts';
import { type EventPorts, handleJobEvent } from '#shared/pipeline/handle-job-event.ts';
import type { SubmitPorts } from '#shared/pipeline/submit-job.ts';
import { reportRefusal } from '#shared/pipeline/take-upload.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { storageObjectSchema } from '#shared/protocol/stage-message.ts';

export type DeadLetter = {
  /** The topic that it was given up on. */
  readonly topic: string;
  readonly messageId: string;
  readonly tries: string;
  readonly body: unknown;
};

const aboutJobSchema = z.object({
  jobId: z.string(),
  attempt: z.int().default(0),
  placementTry: z.int().default(0),
});

/**
 * A message that no try could handle: one about a job goes onto that job, which fails with the evidence if it waits for
 * it; one about an upload becomes the upload's report. Nobody waits for an answer that never comes.
 */
export async function noteDeadLetter(
  ports: EventPorts & SubmitPorts,
  letter: DeadLetter,
  now: TimestampMs,
): Promise<void> {
  const { topic, messageId, body } = letter;
  const problem = `Message ${messageId} of topic ${topic} was given up after ${letter.tries} tries: ${JSON.stringify(body)}`;
  const about = aboutJobSchema.safeParse(body);
  if (about.success) {
    const event = {
      type: 'DELIVERY_EXHAUSTED',
      eventId: `dead-${topic}-${messageId}`,
      at: now,
      topic,
      problem,
    } as const;
    await handleJobEvent(ports, { ...event, ...about.data });
  }
  const upload = storageObjectSchema.safeParse(body);
  if (topic === 'uploads' && upload.success && !upload.data.name.endsWith(REPORT_SUFFIX)) {
    await reportGivenUp(ports, upload.data, problem);
  }
}

/** Beside the upload, unless it has a report already: an accepted job's is not overwritten. */
async function reportGivenUp(
  ports: SubmitPorts,
  upload: { readonly bucket: string; readonly name: string },
  message: string,
): Promise<void> {
  const report = { bucket: upload.bucket, name: `${upload.name}${REPORT_SUFFIX}` };
  if ((await ports.objects.stat(report)) === undefined) {
    const remedy = 'Upload it again. If that ends the same, show this report to whoever operates Dropforge.';
    const problems = [{ code: 'INTERNAL_ERROR', message, remedy }];
    const outcome = { verdict: 'REFUSED', jobId: null, problems, warnings: [] } as const;
    await reportRefusal(ports, report, { source: toGsUri(upload), outcome });
  }
}
