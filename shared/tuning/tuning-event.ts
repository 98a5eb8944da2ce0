import type { TimestampMs } from '#shared/domain/job.ts';
import type { Trial, TrialOutcome, Values } from '#shared/tuning/trial.ts';
import type { MedianBar } from '#shared/tuning/tuning.ts';

/** A fact about a tuning, in the past tense. `eventId` is derived, so that duplicate deliveries are one event. */
export type TuningEvent = {
  readonly eventId: string;
  readonly tuningId: string;
  readonly at: TimestampMs;
  /** The same as in JobEvent. */
  readonly by?: string | null | undefined;
} /** Id `chosen-<from>`. Fewer values than asked for: the space has no others. */ & (
  | {
      readonly type: 'VALUES_CHOSEN';
      readonly from: number;
      readonly values: readonly Values[];
    }
  /** Id `closed-<ordinal>`. */
  | (Omit<Trial, 'tuningId' | 'jobId' | 'outcome' | 'endedAt'> & {
      readonly type: 'TRIAL_CLOSED';
      readonly outcome: TrialOutcome;
      readonly endedAt: TimestampMs;
      /** With this trial's curve; null if the study has no median rule or too few trials have completed. */
      readonly bar: MedianBar | null;
      /** The last step of this trial's curve; null if it has none or was stopped early. */
      readonly completedStep: number | null;
    })
  /** Id `rung-<ordinal>-<step>`. A running trial has reached a rung with this value, of what is minimized. */
  | { readonly type: 'RUNG_REACHED'; readonly ordinal: number; readonly step: number; readonly value: number }
  | { readonly type: 'CANCEL_REQUESTED' }
  | { readonly type: 'DEADLINE_PASSED' }
  /**
   * A message of this tuning that no delivery could handle; `ordinal` is null for a suggestion request. A trial that was
   * never started for this reason is TRIAL_CLOSED as LOST.
   */
  | {
      readonly type: 'DELIVERY_EXHAUSTED';
      readonly messageType: string;
      readonly ordinal: number | null;
      readonly from: number | null;
      readonly problem: string;
    }
);

export type TuningEventType = TuningEvent['type'];
export type TuningEventOf<E extends TuningEventType> = Extract<TuningEvent, { type: E }>;
