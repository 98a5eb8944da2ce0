import * as z from 'zod';
import { type Effect, effectSchema } from '#shared/domain/effect.ts';
import { type Job, jobSchema } from '#shared/domain/job.ts';
import { type Replica, replicaSchema } from '#shared/domain/replica.ts';
import type { RecordForm } from '#shared/machine/record-store.ts';
import { type NotificationRecord, notificationRecordSchema } from '#shared/ports/notification-log.ts';
import { UnreadableRecordsError } from '#shared/ports/unreadable-records.ts';
import { withCurrentNames } from '#shared/protocol/renamed-fields.ts';

/**
 * Reads the records that both job stores keep as JSON: jobs, replicas, outbox entries and notifications. Their schemas
 * have defaults for fields that an older version did not write; fields that were renamed since the version before are
 * read by either name. Unknown keys are dropped.
 */

/** The counts of a job were renamed as well. */
const storedJobSchema = z.preprocess((job) => {
  const parsed = z.looseObject({ counts: z.unknown() }).safeParse(job);
  return parsed.success ? { ...parsed.data, counts: withCurrentNames(parsed.data.counts) } : job;
}, jobSchema);

/** Parses each of a list of records; throws UnreadableRecordsError with the others if some cannot be parsed. */
export function parseEach<Stored, Item>(
  records: readonly Stored[],
  parseRecord: (record: Stored) => Item,
): readonly Item[] {
  const readable: Item[] = [];
  const errors: Error[] = [];
  for (const record of records) {
    try {
      readable.push(parseRecord(record));
    } catch (error) {
      errors.push(error instanceof Error ? error : new Error(String(error)));
    }
  }
  if (errors.length > 0) {
    throw new UnreadableRecordsError(readable, errors);
  }
  return readable;
}

/** Parses a stored job; throws an error that names the job and the field if no version could have written it. */
export function parseStoredJob(json: string): Job {
  return parseStored(storedJobSchema, json, 'job');
}

/** Parses a stored replica record; throws like `parseStoredJob`. */
export function parseStoredReplica(json: string): Replica {
  return parseStored(replicaSchema, json, 'replica record');
}

/** Parses the effect of a stored outbox entry; throws like `parseStoredJob`. */
export function parseStoredEffect(json: string): Effect {
  return parseStored(effectSchema, json, 'outbox entry');
}

/** Parses the stored record of a notification; throws like `parseStoredJob`. */
export function parseStoredNotification(json: string): NotificationRecord {
  return parseStored(notificationRecordSchema, json, 'notification');
}

/** The form of jobs, for their stores. */
export const JOB_FORM: RecordForm<Job, Effect> = {
  idField: 'jobId',
  parse: parseStoredJob,
  parseEffect: parseStoredEffect,
};

/** Parses the JSON of a record; throws an error that names the record and the field if it is not valid. */
export function parseStored<Schema extends z.ZodType>(schema: Schema, json: string, what: string): z.infer<Schema> {
  const record = withCurrentNames(JSON.parse(json));
  const parsed = schema.safeParse(record);
  if (!parsed.success) {
    const named = z.object({ jobId: z.string() }).safeParse(record);
    const tuning = z.object({ tuningId: z.string() }).safeParse(record);
    const name = tuning.success
      ? ` of tuning ${tuning.data.tuningId}`
      : named.success
        ? ` of job ${named.data.jobId}`
        : '';
    throw new Error(`A stored ${what}${name} cannot be read by this version: ${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}
