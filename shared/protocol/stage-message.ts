import * as z from 'zod';
import { provisionSchema, reportTrialSchema, teardownSchema } from '#shared/domain/effect.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import { withCurrentNames } from '#shared/protocol/renamed-fields.ts';
import { startTrialSchema, stopTrialSchema, suggestSchema } from '#shared/tuning/tuning-effect.ts';

const jobId = z.string().regex(JOB_ID_PATTERN);

/** Message of the topic `provision`: place one attempt and create its VMs. */
export const provisionMessageSchema = z.preprocess(withCurrentNames, provisionSchema);

/** Message of the topic `teardown`: delete one job's orphaned VMs, or sweep all of them. */
export const teardownMessageSchema = z.discriminatedUnion('type', [
  teardownSchema,
  z.object({ type: z.literal('SWEEP') }),
]);

/** Message of the topic `tuning`: one step of a tuning, or the end of one of its trials' jobs. */
export const tuningMessageSchema = z.discriminatedUnion('type', [
  suggestSchema,
  startTrialSchema,
  stopTrialSchema,
  reportTrialSchema,
  /** A running trial has reached a rung of ASHA; `value` is of what is minimized. */
  z.object({
    type: z.literal('REPORT_RUNG'),
    tuningId: jobId,
    ordinal: z.int().min(1),
    step: z.number(),
    value: z.number(),
  }),
]);

export type TuningMessage = z.infer<typeof tuningMessageSchema>;

/** Message of the topic `control`, published by users. */
export const controlMessageSchema = z.object({ command: z.literal('cancel'), jobId });

/** The fields read from the LogEntry of a VM's preemption or termination (audit log `system_event`). */
export const interruptionMessageSchema = z.object({
  insertId: z.string().min(1),
  timestamp: z.string(),
  resource: z.object({ labels: z.object({ instance_id: z.string(), zone: z.string() }).loose() }).loose(),
  protoPayload: z.object({ methodName: z.string(), resourceName: z.string() }).loose(),
});

/**
 * The fields read from the object in a Cloud Storage notification (`JSON_API_V1`). int64 fields are strings or numbers.
 */
export const storageObjectSchema = z.object({
  bucket: z.string().min(1),
  name: z.string().min(1).max(1_024),
  generation: z.union([z.string().regex(/^\d+$/), z.int()]).transform(String),
});

export type StorageObject = z.infer<typeof storageObjectSchema>;
