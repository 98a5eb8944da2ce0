import * as z from 'zod';
import { type Job, stateOf } from '#shared/domain/job.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import type { Stated } from '#shared/domain/stated.ts';

const jobId = z.string().regex(JOB_ID_PATTERN);
const ordinal = z.int().min(1);

/** Place one attempt and create its VMs. */
export const provisionSchema = z.object({
  type: z.literal('PROVISION'),
  jobId,
  attempt: z.int().min(1),
  placementRound: z.int().min(1),
});

/** Delete every VM of the job that its current attempt does not own. */
export const teardownSchema = z.object({ type: z.literal('TEARDOWN'), jobId });

/** Tell the tuning that the job of its trial has closed. */
export const reportTrialSchema = z.object({ type: z.literal('REPORT_TRIAL'), jobId, tuningId: jobId, ordinal });

/** Tell subscribers what users see now. The version before stored it as ANNOUNCE; the attempt of a tuning is 0. */
export const jobUpdateSchema = z.object({
  type: z.enum(['JOB_UPDATE', 'ANNOUNCE']).transform(() => 'JOB_UPDATE' as const),
  jobId,
  state: z.string(),
  attempt: z.int(),
});

/** The next action, in the imperative: plain data, idempotent. Each becomes one message on a stage topic. */
export const effectSchema = z.discriminatedUnion('type', [
  provisionSchema,
  teardownSchema,
  reportTrialSchema,
  jobUpdateSchema,
]);
export type Effect = Stated<typeof effectSchema>;

/** The job after an event, and the effects to publish. */
export type Transition = { readonly job: Job; readonly effects: readonly Effect[] };

/** Asks the provision stage to place the current attempt and to create its VMs. */
export function provisionOf({ jobId, attempt, placementRound }: Job): Effect {
  return { type: 'PROVISION', jobId, attempt, placementRound };
}

/** Asks the teardown stage to delete every VM of the job that its current attempt does not own. */
export function teardownOf({ jobId }: Job): Effect {
  return { type: 'TEARDOWN', jobId };
}

export type JobUpdate = Stated<typeof jobUpdateSchema>;

/** Tells subscribers of job updates, and the report stage, what users see now. */
export function jobUpdateOf(job: Job): JobUpdate {
  return { type: 'JOB_UPDATE', jobId: job.jobId, state: stateOf(job), attempt: job.attempt };
}
