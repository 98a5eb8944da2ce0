import { createHash } from 'node:crypto';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { REPORT_SUFFIX } from '#shared/protocol/report.ts';

/** A message of the submit topic. */
export type SubmitMessage = {
  readonly messageId: string;
  readonly data: Uint8Array;
  readonly publishedAt?: TimestampMs | undefined;
};

/** Messages with the same data whose reports one dead letter ends. */
const MESSAGES_COUNT_MAX = 50;

/**
 * Records that a delivery of the message failed and another one follows. A dead letter has the same data and an id of
 * its own (Pub/Sub docs, "Dead-letter topics"), so the object's name leads from the data to the message's id. A process
 * that dies records nothing; the next delivery does.
 */
export async function recordFailedDelivery(
  objects: ObjectStore,
  { bucket, messageId, data }: SubmitMessage & { readonly bucket: string },
): Promise<void> {
  const object = { bucket, name: `${folderOf(data)}${messageId}${REPORT_SUFFIX}` };
  await objects.write(object, Buffer.from('{}\n'), { contentType: 'application/json', ifGeneration: '0' });
}

/** The ids of messages with this data of which a delivery has failed. */
export async function listFailedMessages(
  objects: ObjectStore,
  { bucket, data }: { readonly bucket: string; readonly data: Uint8Array },
): Promise<readonly string[]> {
  const prefix = folderOf(data);
  const found = await objects.list({ bucket, prefix, countMax: MESSAGES_COUNT_MAX });
  return found.map(({ name }) => name.slice(prefix.length, -REPORT_SUFFIX.length));
}

/** Objects with the suffix of reports are no submissions, and all that functions may write to this bucket. */
function folderOf(data: Uint8Array): string {
  return `submitted/failed/${createHash('sha256').update(data).digest('hex')}/`;
}
