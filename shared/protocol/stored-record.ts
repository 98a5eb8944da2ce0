import * as z from 'zod';
import { type Effect, effectSchema } from '#shared/domain/effect.ts';
import { type Job, jobSchema } from '#shared/domain/job.ts';
import { replicaSchema } from '#shared/domain/replica.ts';
import type { Stated } from '#shared/domain/stated.ts';
import type { RecordForm } from '#shared/machine/record-store.ts';
import { notificationRecordSchema } from '#shared/ports/notification-log.ts';
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

export const parseStoredJob = parserOf(storedJobSchema, 'job');
export const parseStoredReplica = parserOf(replicaSchema, 'replica record');
export const parseStoredEffect = parserOf(effectSchema, 'outbox entry');
export const parseStoredNotification = parserOf(notificationRecordSchema, 'notification');

/** The form of jobs, for their stores. */
export const JOB_FORM: RecordForm<Job, Effect> = {
  idField: 'jobId',
  parse: parseStoredJob,
  parseEffect: parseStoredEffect,
};

/** The ids that name a record in errors, if it has them. */
const id = z.string().optional().catch(undefined);
const idsSchema = z.object({ jobId: id, tuningId: id }).catch({ jobId: undefined, tuningId: undefined });

/**
 * A parser for the JSON of one kind of record. It throws an error that names the record and the field if no version
 * could have written it.
 */
export function parserOf<Schema extends z.ZodType>(schema: Schema, what: string): (json: string) => Stated<Schema> {
  return (json) => {
    const record = withCurrentNames(JSON.parse(json));
    const parsed = schema.safeParse(record);
    if (!parsed.success) {
      const { jobId, tuningId } = idsSchema.parse(record);
      const name = tuningId === undefined ? jobId && ` of job ${jobId}` : ` of tuning ${tuningId}`;
      throw new Error(`A stored ${what}${name ?? ''} cannot be read by this version: ${z.prettifyError(parsed.error)}`);
    }
    return parsed.data as Stated<Schema>;
  };
}
