import * as z from 'zod';
import { type JobUpdate, jobUpdateSchema } from '#shared/domain/effect.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';
import type { Stated } from '#shared/domain/stated.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import { stateOfTuning, type Tuning } from '#shared/tuning/tuning.ts';

const tuningId = z.string().regex(JOB_ID_PATTERN);
const ordinal = z.int().min(1);

/** Choose values for the trials `from` to `from + count - 1`. */
export const suggestSchema = z.object({ type: z.literal('SUGGEST'), tuningId, from: ordinal, count: ordinal });

/** Create the job of a trial that has not ended, if there is none; report its end if it is closed. */
export const startTrialSchema = z.object({ type: z.literal('START_TRIAL'), tuningId, ordinal });

/**
 * Do what START_TRIAL does, and then ask the job to end, so that a START_TRIAL that arrives later finds it.
 * STOP: end the program, save its outputs, count what it has reported. CANCEL: end it now. Of a trial that has ended,
 * nothing is created.
 */
export const stopTrialSchema = z.object({
  type: z.literal('STOP_TRIAL'),
  tuningId,
  ordinal,
  how: z.enum(['STOP', 'CANCEL']),
});

/** The next action, in the imperative: plain data, idempotent. Each becomes one message. */
export const tuningEffectSchema = z.discriminatedUnion('type', [
  suggestSchema,
  startTrialSchema,
  stopTrialSchema,
  jobUpdateSchema,
]);
export type TuningEffect = Stated<typeof tuningEffectSchema>;

/** The trials that an event has added or changed, and the effects to publish. */
export type Changes = { readonly trials: readonly Trial[]; readonly effects: readonly TuningEffect[] };

/** The tuning after an event, with what else has changed. */
export type TuningTransition = Changes & { readonly tuning: Tuning };

/** Tells subscribers of job updates, and the report stage, what users see now. */
export function tuningUpdateOf(tuning: Tuning): JobUpdate {
  return { type: 'JOB_UPDATE', jobId: tuning.tuningId, state: stateOfTuning(tuning), attempt: 0 };
}
