import * as z from 'zod';
import { JOB_STATES } from '#shared/domain/job-state.ts';
import type { Stated } from '#shared/domain/stated.ts';

/**
 * The subjects of notifications: the states of a job, the end of an attempt that starts another one, and an
 * upload that was refused.
 */
export const NOTIFIED_STATES = [...JOB_STATES, 'INTERRUPTED', 'REFUSED'] as const;

export type NotifiedState = (typeof NOTIFIED_STATES)[number];

/** The states that a channel is notified of if neither it nor the job chooses any. */
export const NOTIFIED_STATES_DEFAULT: readonly NotifiedState[] = ['SUCCEEDED', 'FAILED'];

/** Where and when a job notifies; null leaves it to the deployment's channels. */
export const notifySchema = z.object({
  /** Names of channels that the deployment defines; an empty list notifies none. Never an address. */
  channels: z.array(z.string()).nullable(),
  states: z.array(z.enum(NOTIFIED_STATES)).nullable(),
});
export type NotifySpec = Stated<typeof notifySchema>;

/** Limit on the channels of a deployment, each of which gets its own copy of every update. */
export const CHANNELS_COUNT_MAX = 20;
