import { z } from 'zod';
import type { TimestampMs } from '#shared/domain/job.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { withCurrentNames } from '#shared/protocol/renamed-fields.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';
import { type StorageObject, storageObjectSchema } from '#shared/protocol/stage-message.ts';
import { type EventPorts, handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import type { SubmitPorts } from '#shared/use-cases/intake/submit-job.ts';
import { isNewer, updateReport } from '#shared/use-cases/reports/update-report.ts';

export type DeadLetter = {
  /** The topic that it was given up on. */
  readonly topic: string;
  readonly messageId: string;
  readonly tries: string;
  readonly body: unknown;
};

const aboutJobSchema = z.preprocess(
  withCurrentNames,
  z.object({ jobId: z.string(), attempt: z.int().default(0), placementRound: z.int().default(0) }),
);

/**
 * A message that no try could handle: one about a job goes onto that job, which fails with the evidence if it waits for
 * it; one about an upload becomes the upload's report. Nobody waits for an answer that never comes.
 */
export async function handleDeadLetter(
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

/** Beside the upload, unless this upload has a report already, which says more. */
async function reportGivenUp(ports: SubmitPorts, upload: StorageObject, message: string): Promise<void> {
  const beside = { bucket: upload.bucket, name: `${upload.name}${REPORT_SUFFIX}` };
  const subject = { beside, generation: upload.generation, acceptedJobId: null };
  const remedy = 'Upload it again. If that ends the same, show this report to whoever operates Dropforge.';
  const problems = [{ code: 'INTERNAL_ERROR', message, remedy }];
  await updateReport(ports.objects, subject, async (found) => {
    const isOlder = found === undefined || isNewer(upload.generation, found.generation ?? '0');
    return isOlder
      ? { verdict: 'REFUSED', source: toGsUri(upload), jobId: null, problems, warnings: [], job: null }
      : null;
  });
}
