import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { StoppingConditions, Study } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { TrialOutcome } from '#shared/tuning/trial.ts';
import type { TuningEventType } from '#shared/tuning/tuning-event.ts';
import { accept, TuningRun } from '../support/domain/tuning-run.ts';

/** One case of an event: its condition, a tuning for which the condition holds, and the event itself. */
export type TuningCase = {
  readonly type: TuningEventType;
  readonly when: string;
  readonly before: TuningRun;
  readonly event: (before: TuningRun) => TuningRun;
};

const HOUR_MS = 3_600_000;
const CONDITIONS: StoppingConditions = {
  stopsRunningTrials: false,
  minimumRuntime: null,
  maximumRuntime: { maxMs: HOUR_MS },
  trialsMin: null,
  trialsMax: null,
  trialsWithoutProgressMax: null,
  withoutProgressMaxMs: null,
};

const accepted = (facts: Partial<Study> = {}) => new TuningRun(accept(facts));
const started = (facts: Partial<Study> = {}) => accepted(facts).chosen(1_000);
const last = (facts: Partial<Study> = {}) => started({ trialsMax: 1, parallelTrialsMax: 1, ...facts });

const success: TrialOutcome = {
  kind: 'SUCCEEDED',
  furtherObjectives: [],
  objective: 0.5,
  final: { step: 1, elapsedMs: 1, values: { accuracy: 0.5 } },
  isStoppedEarly: false,
};
const missing: TrialOutcome = { kind: 'INFEASIBLE', reason: 'METRIC_MISSING', message: 'It reported no metric.' };
const failed = (code: CauseCode): TrialOutcome => ({ kind: 'FAILED', cause: causeOf(code, 'It failed.') });
const lost = (code: CauseCode): TrialOutcome => ({ kind: 'LOST', cause: causeOf(code, 'It was lost.') });

function closes(outcome: TrialOutcome, { ordinal = 1, at = 2_000 } = {}): TuningCase['event'] {
  return (before) => before.closed(ordinal, outcome, at);
}

const oneAtATime = { parallelTrialsMax: 1 };
const twiceLost = started(oneAtATime).closed(1, lost('STOCKOUT'), 2).closed(2, lost('STOCKOUT'), 3);
const twoOnRung = started({ parallelTrialsMax: 4 }).rung(1, 0.1).rung(2, 0.2);
const wakeAtOf = ({ tuning }: TuningRun) => (tuning.status === 'CLOSED' ? 0 : tuning.wakeAt);

/** Every case of every event that the rules distinguish. */
export const TUNING_CASES: readonly TuningCase[] = [
  {
    type: 'VALUES_CHOSEN',
    when: 'as many as were asked for',
    before: accepted(),
    event: (before) => before.chosen(1_000),
  },
  {
    type: 'VALUES_CHOSEN',
    when: 'fewer than were asked for, since there are no others',
    before: accepted(),
    event: (before) => before.chosen(1_000, 1),
  },
  {
    type: 'VALUES_CHOSEN',
    when: 'none, and no trial runs',
    before: accepted(),
    event: (before) => before.chosen(1_000, 0),
  },
  { type: 'TRIAL_CLOSED', when: 'a slot is free, and trials are left', before: started(), event: closes(success) },
  {
    type: 'TRIAL_CLOSED',
    when: 'no trials are left, others run',
    before: started({ trialsMax: 2 }),
    event: closes(success),
  },
  { type: 'TRIAL_CLOSED', when: 'the last one, one has succeeded', before: last(), event: closes(success) },
  { type: 'TRIAL_CLOSED', when: 'the last one, none has succeeded', before: last(), event: closes(missing) },
  { type: 'TRIAL_CLOSED', when: 'lost, not cancelled', before: started(), event: closes(lost('STOCKOUT')) },
  {
    type: 'TRIAL_CLOSED',
    when: 'lost, the third with the same values and in a row',
    before: twiceLost,
    event: closes(lost('STOCKOUT'), { ordinal: 3 }),
  },
  { type: 'TRIAL_CLOSED', when: 'lost, cancelled', before: started(), event: closes(lost('CANCELLED_BY_USER')) },
  {
    type: 'TRIAL_CLOSED',
    when: 'failed, class configuration, others run',
    before: started(),
    event: closes(failed('SECRET_UNAVAILABLE')),
  },
  {
    type: 'TRIAL_CLOSED',
    when: 'too many have failed, others run',
    before: started({ failedTrialsMax: 1 }),
    event: closes(failed('PROGRAM_FAILED')),
  },
  {
    type: 'TRIAL_CLOSED',
    when: 'a stopping condition applies, others run',
    before: started({ stoppingConditions: CONDITIONS }),
    event: closes(success, { at: HOUR_MS }),
  },
  {
    type: 'TRIAL_CLOSED',
    when: 'the cost limit is reached, others run',
    before: started({ maxCostUsd: 0.5 }),
    event: closes(success),
  },
  {
    type: 'RUNG_REACHED',
    when: 'among the best third',
    before: twoOnRung,
    event: (before) => before.rung(3, 0.05),
  },
  { type: 'RUNG_REACHED', when: 'not among the best third', before: twoOnRung, event: (before) => before.rung(3, 0.3) },
  { type: 'CANCEL_REQUESTED', when: 'trials run', before: started(), event: (before) => before.cancelled(2_000) },
  { type: 'CANCEL_REQUESTED', when: 'no trial runs', before: accepted(), event: (before) => before.cancelled(2_000) },
  {
    type: 'DELIVERY_EXHAUSTED',
    when: 'of the suggestion request, fewer than three times in a row',
    before: accepted(),
    event: (before) => before.exhausted(1),
  },
  {
    type: 'DELIVERY_EXHAUSTED',
    when: 'of the suggestion request, the third time in a row',
    before: accepted().exhausted(1).exhausted(3),
    event: (before) => before.exhausted(5),
  },
  {
    type: 'DEADLINE_PASSED',
    when: 'values were not chosen in time',
    before: accepted(),
    event: (before) => before.deadline(wakeAtOf(before)),
  },
  {
    type: 'DEADLINE_PASSED',
    when: 'trials were not checked for long',
    before: started(),
    event: (before) => before.deadline(wakeAtOf(before)),
  },
  {
    type: 'DEADLINE_PASSED',
    when: 'a stopping condition applies and stops running trials',
    before: started({
      stoppingConditions: { ...CONDITIONS, maximumRuntime: { maxMs: 2_000 }, stopsRunningTrials: true },
    }),
    event: (before) => before.deadline(wakeAtOf(before)),
  },
  {
    type: 'TRIAL_CLOSED',
    when: 'others run',
    before: started().cancelled(2_000),
    event: closes(lost('CANCELLED_BY_USER')),
  },
  {
    type: 'TRIAL_CLOSED',
    when: 'the last one',
    before: last().cancelled(2_000),
    event: closes(lost('CANCELLED_BY_USER')),
  },
  {
    type: 'DEADLINE_PASSED',
    when: 'trials still run',
    before: started().cancelled(2_000),
    event: (before) => before.deadline(2_000 + TIMEOUTS.trialCancelMs),
  },
];
