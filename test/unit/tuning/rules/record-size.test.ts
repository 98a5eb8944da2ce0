import { expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import { jsonBytesOf } from '#shared/domain/job-size.ts';
import { transitionTuning } from '#shared/tuning/rules/transition.ts';
import { RUNG_VALUES_MAX, RUNGS_MAX, recordRung } from '#shared/tuning/stopping/asha.ts';
import {
  CURVE_POINTS_MAX,
  PARALLEL_TRIALS_MAX,
  TRIALS_MAX,
  type TrialOutcome,
  TUNING_ID_CHARS_MAX,
  trialJobIdOf,
} from '#shared/tuning/trial.ts';
import { FAILURE_TALLIES_MAX, FRONT_NUMBERS_MAX, type Rung, type Tuning } from '#shared/tuning/tuning.ts';
import { STUDY, searchingTuning } from '../../../support/domain/example-tuning.ts';

const BYTES_MAX = 64 << 10;
const TIME = 1_795_374_000_000;
/** A number with as many digits as one can have. */
const NUMBER = -1.2345678901234567e-100;

function fullRungs(): readonly Rung[] {
  let rungs: readonly Rung[] = [];
  for (let step = 1; step <= RUNGS_MAX + 1; step += 1) {
    for (let index = 0; index <= RUNG_VALUES_MAX; index += 1) {
      rungs = recordRung(rungs, { step, value: NUMBER }).rungs;
    }
  }
  return rungs;
}

/** A tuning with the longest id, all trials in parallel, and everything that it records at its limit. */
function fullTuning(): Tuning {
  const tuningId = 't'.repeat(TUNING_ID_CHARS_MAX);
  const running = Array.from({ length: PARALLEL_TRIALS_MAX }, (_, index) => {
    const ordinal = TRIALS_MAX - index;
    const times = { since: TIME, checkedAt: TIME };
    return { ordinal, jobId: trialJobIdOf(tuningId, ordinal), ...times, isStopping: false, lostBefore: 2 };
  });
  const points = Array.from({ length: CURVE_POINTS_MAX }, () => NUMBER);
  return searchingTuning({
    tuningId,
    running,
    study: { ...STUDY, trialsMax: TRIALS_MAX, parallelTrialsMax: PARALLEL_TRIALS_MAX, failedTrialsMax: null },
    suggestedCount: TRIALS_MAX,
    lastOrdinal: TRIALS_MAX,
    asked: null,
    counts: { succeeded: 99_000, stoppedEarly: 9_000, infeasible: 9_000, failed: 9_000, lost: 9_000 },
    bar: { steps: points, medians: points, completedCount: 9_000 },
    rungs: fullRungs(),
  });
}

const CODES = [
  'PROGRAM_FAILED',
  'PROGRAM_KILLED',
  'OUT_OF_MEMORY',
  'DISK_FULL',
  'MODULE_NOT_FOUND',
  'IMPORT_FAILED',
  'PROGRAM_NOT_FOUND',
  'INSTALL_FAILED',
  'SETUP_TIMED_OUT',
] as const;

it('stays small with as many trials in parallel as there can be, besides what was submitted', () => {
  const full = CODES.reduce((tuning: Tuning, code, index) => {
    const cause = causeOf(code, 'm'.repeat(100_000), Array(40).fill('e'.repeat(2_000)));
    const outcome: TrialOutcome = { kind: 'FAILED', cause };
    return transitionTuning(tuning, {
      type: 'TRIAL_CLOSED',
      eventId: `closed-${index}`,
      tuningId: tuning.tuningId,
      at: TIME,
      ordinal: TRIALS_MAX - index,
      values: {},
      chosenAt: TIME,
      repeats: null,
      outcome,
      startedAt: TIME,
      endedAt: TIME,
      costUsd: NUMBER,
      bar: null,
      completedStep: NUMBER,
    }).tuning;
  }, fullTuning());
  expect(full).toMatchObject({ status: 'SEARCHING', failures: { length: FAILURE_TALLIES_MAX } });
  const { spec: _spec, study: _study, packages: _packages, zones: _zones, warnings: _warnings, ...record } = full;
  expect(jsonBytesOf({ ...record, running: fullTuning().running })).toBeLessThan(BYTES_MAX);
});

it('stays smaller with several objectives, which are not stopped early', () => {
  const front = Array.from({ length: FRONT_NUMBERS_MAX / 20 }, () => Array(20).fill(NUMBER));
  expect(jsonBytesOf(front)).toBeLessThan(jsonBytesOf(fullRungs()));
});
