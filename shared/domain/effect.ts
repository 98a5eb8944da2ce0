import { type Job, stateOf } from '#shared/domain/job.ts';

/** What to do next, in the imperative: plain data, idempotent. Each becomes one message on a stage topic. */
export type Effect =
  | { readonly type: 'PROVISION'; readonly jobId: string; readonly attempt: number; readonly placementRound: number }
  | { readonly type: 'TEARDOWN'; readonly jobId: string }
  /** Tell the tuning that the job of its trial has closed. */
  | { readonly type: 'REPORT_TRIAL'; readonly jobId: string; readonly tuningId: string; readonly ordinal: number }
  | { readonly type: 'JOB_UPDATE'; readonly jobId: string; readonly state: string; readonly attempt: number };

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

export type JobUpdate = Extract<Effect, { type: 'JOB_UPDATE' }>;

/** Tells subscribers of job updates, and the report stage, what users see now. */
export function jobUpdateOf(job: Job): JobUpdate {
  return { type: 'JOB_UPDATE', jobId: job.jobId, state: stateOf(job), attempt: job.attempt };
}
