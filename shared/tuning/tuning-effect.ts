import type { Trial } from '#shared/tuning/trial.ts';
import { stateOfTuning, type Tuning } from '#shared/tuning/tuning.ts';

/** What to do next, in the imperative: plain data, idempotent. Each becomes one message. */
export type TuningEffect =
  /** Choose values for the trials `from` to `from + count - 1`. */
  | { readonly type: 'SUGGEST'; readonly tuningId: string; readonly from: number; readonly count: number }
  /** Create the job of a trial that has not ended, if there is none; report its end if it is closed. */
  | { readonly type: 'START_TRIAL'; readonly tuningId: string; readonly ordinal: number }
  /**
   * As START_TRIAL, and then ask the job to end, so that a START_TRIAL that arrives later finds it. STOP: end the
   * program, save its outputs, count what it has reported. CANCEL: end it now. Of a trial that has ended, nothing is
   * created.
   */
  | {
      readonly type: 'STOP_TRIAL';
      readonly tuningId: string;
      readonly ordinal: number;
      readonly how: 'STOP' | 'CANCEL';
    }
  | { readonly type: 'JOB_UPDATE'; readonly jobId: string; readonly state: string; readonly attempt: 0 };

/** The tuning after an event, the trials that were added or changed with it, and the effects to publish. */
export type TuningTransition = {
  readonly tuning: Tuning;
  readonly trials: readonly Trial[];
  readonly effects: readonly TuningEffect[];
};

/** Tells subscribers of job updates, and the report stage, what users see now. */
export function tuningUpdateOf(tuning: Tuning): Extract<TuningEffect, { type: 'JOB_UPDATE' }> {
  return { type: 'JOB_UPDATE', jobId: tuning.tuningId, state: stateOfTuning(tuning), attempt: 0 };
}
