import { submittedEntry } from '#shared/domain/history.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { TuningCommon, TuningIn } from '#shared/tuning/tuning.ts';
import { type TuningEffect, tuningUpdateOf } from '#shared/tuning/tuning-effect.ts';

/** The parts of an accepted tuning. */
export type NewTuning = Pick<TuningCommon, AcceptedField> & {
  readonly now: TimestampMs;
  readonly timeouts: Timeouts;
};

type AcceptedField = 'spec' | 'study' | 'packages' | 'zones' | 'source' | 'warnings' | 'resumes' | 'perHourUsd';

/** The tuning when it is accepted, and the effects to publish: it waits for the values of its first trials. */
export function newTuning({ spec, study, now, timeouts, ...accepted }: NewTuning): {
  readonly tuning: TuningIn<'SEARCHING'>;
  readonly effects: readonly TuningEffect[];
} {
  const tuningId = spec.jobId;
  const count = Math.min(study.parallelTrialsMax, study.stoppingConditions?.trialsMax ?? study.trialsMax);
  const asked = { from: 1, count: Math.min(count, study.trialsMax), at: now };
  const tuning: TuningIn<'SEARCHING'> = {
    ...accepted,
    status: 'SEARCHING',
    asked,
    isExhausted: false,
    suggestFailuresInRow: 0,
    wakeAt: now + timeouts.suggestionAnswerMs,
    tuningId,
    spec: { ...spec, study: null },
    study,
    createdAt: now,
    suggestedCount: 0,
    lastOrdinal: asked.count,
    running: [],
    counts: { succeeded: 0, stoppedEarly: 0, infeasible: 0, failed: 0, lost: 0 },
    lostInRow: 0,
    failures: [],
    best: null,
    front: [],
    bar: null,
    rungs: [],
    longestStep: null,
    spentUsd: 0,
    firstTrialAt: null,
    stopReason: null,
    history: [submittedEntry('SEARCHING', { at: now, by: accepted.source.submittedBy })],
  };
  const suggest: TuningEffect = { type: 'SUGGEST', tuningId, from: asked.from, count: asked.count };
  return { tuning, effects: [suggest, tuningUpdateOf(tuning)] };
}
