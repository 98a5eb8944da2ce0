import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import { type Effect, effectSchema } from '#shared/domain/effect.ts';
import { historySchema } from '#shared/domain/history-entry.ts';
import type { Job } from '#shared/domain/job.ts';
import { jobSpecSchema, provisioningModelSchema, ROLES } from '#shared/domain/job-spec.ts';
import { JOB_STATES } from '#shared/domain/job-state.ts';
import { jobTextSchema } from '#shared/domain/job-text.ts';
import { packageLayoutSchema } from '#shared/domain/package-layout.ts';
import { type Replica, replicaSchema } from '#shared/domain/replica.ts';
import type { RecordForm } from '#shared/machine/record-store.ts';
import { type NotificationRecord, notificationRecordSchema } from '#shared/ports/notification-log.ts';
import { UnreadableRecordsError } from '#shared/ports/unreadable-records.ts';
import { withCurrentNames } from '#shared/protocol/renamed-fields.ts';

/**
 * The stored form of the records that both job stores keep as JSON: jobs, replicas and outbox entries. Only this module
 * knows it: fields that an older version did not write get defaults, and fields that were renamed since the version
 * before are read by either name. Unknown keys are dropped.
 */

const timestamp = z.int();
const count = z.int().min(0);
const provisioningModel = provisioningModelSchema;

/** The submission that intake has accepted, in jobs and in tunings; no event changes it. */
export const storedSubmission = {
  spec: jobSpecSchema,
  packages: z.array(
    z.object({
      ...{ uri: z.string(), generation: z.string(), crc32c: z.string(), sizeBytes: z.number() },
      layouts: z.array(z.object({ module: z.string(), layout: packageLayoutSchema })).optional(),
    }),
  ),
  zones: z.array(z.string()),
  source: z.object({
    ...{ uri: z.string(), deliveryId: z.string(), digest: z.string(), reportUri: z.string() },
    submittedBy: z.string().nullable().default(null),
    text: jobTextSchema.nullable().default(null),
  }),
  warnings: z
    .array(
      z.object({
        code: z.string(),
        message: z.string(),
        remedy: z.string(),
        path: z.string().optional(),
        line: z.int().optional(),
      }),
    )
    .default([]),
  createdAt: timestamp,
};

const jobCommon = {
  ...storedSubmission,
  jobId: z.string(),
  trial: z
    .object({
      tuningId: z.string(),
      ordinal: z.int().min(1),
      metricIds: z.array(z.string()),
    })
    .nullable()
    .default(null),
  attempt: z.int().min(1),
  placementRound: count,
  exhaustedZones: z.array(z.string()),
  firstRanAt: timestamp.nullable(),
  ranMs: z.number().default(0),
  counts: z.preprocess(
    withCurrentNames,
    z.object({
      interruptions: count,
      interruptionsInRow: count.default(0),
      bootFailuresInRow: count.default(0),
      restarts: count,
      createFailures: count,
      deliveryFailuresInRow: count.default(0),
      unusedVms: count.default(0),
    }),
  ),
  ledger: z.array(
    z.object({
      attempt: z.int(),
      zone: z.string().nullable(),
      provisioningModel: provisioningModel.nullable(),
      placedAt: timestamp.nullable(),
      ranAt: timestamp.nullable(),
      endedAt: timestamp,
      cause: causeSchema.nullable(),
    }),
  ),
  waitingFor: causeSchema.nullable(),
  quotaWaitSince: timestamp.nullable().default(null),
  deniedSince: timestamp.nullable().default(null),
  waitsFor: z
    .object({
      ...{ metric: z.string(), family: z.string().nullable(), limit: z.number(), region: z.string().nullable() },
      isHeld: z.boolean(),
    })
    .nullable()
    .default(null),
  endedPlacements: count.default(0),
  history: historySchema.default([]),
};

const unfinished = { ...jobCommon, wakeAt: timestamp };

const heldFailureSchema = z.object({
  replica: z.string(),
  cause: causeSchema,
  failedAt: timestamp,
  heldAt: timestamp,
  hasMasterSucceeded: z.boolean(),
});

const placementSchema = z.object({ zone: z.string(), provisioningModel, machineImage: z.string() });

const keptVmSchema = z
  .object({
    replica: z.string(),
    vmName: z.string(),
    instanceId: z.string().nullable(),
    placement: placementSchema,
    since: timestamp,
    until: timestamp,
    releasedAt: timestamp.nullable(),
  })
  .nullable()
  .default(null);

const placed = {
  ...unfinished,
  placement: placementSchema,
  instances: z.array(z.object({ role: z.enum(ROLES), index: count, vmName: z.string(), instanceId: z.string() })),
  placedAt: timestamp,
  heldFailure: heldFailureSchema.nullable().default(null),
};

export const storedVerdictSchema = z.object({
  state: z.enum(['SUCCEEDED', 'FAILED', 'CANCELLED']),
  cause: causeSchema.nullable(),
  isStoppedEarly: z.literal(true).optional(),
});

const jobSchema = z.discriminatedUnion('status', [
  z.object({
    ...unfinished,
    status: z.literal('QUEUED'),
    isBackingOff: z.boolean(),
    isAdmitted: z.boolean().default(false),
  }),
  z.object({
    ...placed,
    status: z.literal('PREPARING'),
    reportedAt: timestamp.nullable().default(null),
    pendingUntil: timestamp.nullable().default(null),
    assemblingSince: timestamp.nullable().default(null),
  }),
  z.object({
    ...placed,
    status: z.literal('RUNNING'),
    ranAt: timestamp,
    uploadingAt: timestamp.nullable().default(null),
    stopRequestedAt: timestamp.nullable().default(null),
  }),
  z.object({
    ...unfinished,
    status: z.literal('CLOSING'),
    verdict: storedVerdictSchema,
    shownAs: z.enum(JOB_STATES),
    kept: keptVmSchema,
  }),
  z.object({
    ...jobCommon,
    status: z.literal('CLOSED'),
    verdict: storedVerdictSchema,
    endedAt: timestamp,
    kept: keptVmSchema,
  }),
]) satisfies z.ZodType<Job>;

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
  return parseStored(jobSchema, json, 'job');
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
