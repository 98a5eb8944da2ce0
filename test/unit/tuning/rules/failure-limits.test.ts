import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Study } from '#shared/domain/study.ts';
import type { TrialOutcome } from '#shared/tuning/trial.ts';
import { accept, failed, lost, missing, start, success, TuningRun } from '../../../support/domain/tuning-run.ts';

function failedWith(label: string): TrialOutcome {
  const diagnosis = { label, remedy: 'Correct it.', canRetryHelp: false };
  return { kind: 'FAILED', cause: { ...causeOf('PROGRAM_FAILED', 'It failed.'), diagnosis } };
}

/** A tuning of up to 100 trials of which the first have failed, with these outcomes in turn. */
function failing(count: number, outcomes: readonly TrialOutcome[], facts: Partial<Study>): TuningRun {
  let run = start({ trialsMax: 100, ...facts });
  for (let ordinal = 1; ordinal <= count; ordinal += 1) {
    run = run.closed(ordinal, outcomes[ordinal % outcomes.length] ?? failed(), ordinal).chosen(ordinal);
  }
  return run;
}

describe('failures', () => {
  it('of the configuration end the tuning at once, and cancel what runs', () => {
    const run = start().closed(1, failed('SECRET_UNAVAILABLE'), 2_000);
    expect(run.requests).toEqual(['CANCEL 2']);
    expect(run.tuning).toMatchObject({ status: 'CLOSING', verdict: { cause: { code: 'SECRET_UNAVAILABLE' } } });
  });

  it('end the tuning at the limit of the study, with the commonest cause', () => {
    const run = start({ failedTrialsMax: 3 }).closed(1, success(1), 2).chosen(2).closed(2, failed('DISK_FULL'), 3);
    const next = run.chosen(3).closed(3, missing, 4).chosen(4).closed(4, failed('DISK_FULL'), 5);
    expect(next.tuning).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: 'DISK_FULL' } },
    });
    expect(next.tuning).toMatchObject({
      verdict: {
        cause: {
          message:
            '3 of 4 trials of tuning digits failed or had no usable metric; the limit is 3. Most often, 2 times: It failed.',
        },
      },
    });
  });

  it('of the first trials do not end a tuning without a limit, since other values may succeed, until they are 30', () => {
    const run = failing(29, [failed(), failed('OUT_OF_MEMORY')], { parallelTrialsMax: 1 });
    expect(run.tuning.status).toBe('SEARCHING');
    expect(run.closed(30, failed(), 40).tuning).toMatchObject({ status: 'CLOSED', verdict: { state: 'FAILED' } });
    expect(run.closed(30, success(1), 40).tuning).toMatchObject({ status: 'SEARCHING', counts: { succeeded: 1 } });
  });

  it.each([
    ['of the installation', failed('INSTALL_FAILED')],
    ['to find a module', failed('MODULE_NOT_FOUND')],
    ['to get a permission', failedWith('permission_denied')],
  ])('%s, which no values change, end a tuning without a limit after three', (_, outcome) => {
    const run = failing(2, [outcome], { parallelTrialsMax: 1 });
    expect(run.tuning.status).toBe('SEARCHING');
    expect(run.closed(3, outcome, 4).tuning).toMatchObject({
      status: 'CLOSED',
      verdict: { state: 'FAILED', cause: { message: expect.stringContaining('It failed.') } },
    });
    expect(run.closed(3, failedWith('gpu_oom'), 4).tuning.status).toBe('SEARCHING');
  });

  it('end the tuning with the remedy of their diagnosis', () => {
    const { tuning } = failing(3, [failedWith('permission_denied')], { parallelTrialsMax: 1 });
    expect(tuning).toMatchObject({ verdict: { cause: { diagnosis: { remedy: 'Correct it.' } } } });
  });

  it('do not end the trials that started with them, which may succeed', () => {
    const run = failing(4, [failed('INSTALL_FAILED')], { parallelTrialsMax: 5 });
    expect(run.tuning.status).toBe('SEARCHING');
    expect(run.closed(5, failed('INSTALL_FAILED'), 6).tuning).toMatchObject({ verdict: { state: 'FAILED' } });
    expect(run.closed(5, success(1), 6).tuning).toMatchObject({ status: 'SEARCHING', counts: { succeeded: 1 } });
  });

  it('do not end a tuning without a limit that has a result, however many they are', () => {
    let run = start({ parallelTrialsMax: 1, trialsMax: 100 }).closed(1, success(1), 2).chosen(2);
    for (let ordinal = 2; ordinal <= 60; ordinal += 1) {
      run = run.closed(ordinal, failed(), ordinal).chosen(ordinal);
    }
    expect(run.tuning).toMatchObject({ status: 'SEARCHING', counts: { failed: 59 } });
  });

  it('to report the metric end the tuning after three trials, and name what was reported', () => {
    const run = start({ parallelTrialsMax: 3, failedTrialsMax: 5 }).closed(1, missing, 2).closed(2, missing, 3);
    const cause = { code: 'METRIC_NOT_REPORTED', message: expect.stringContaining('It reported "acc".') };
    expect(run.closed(3, missing, 4).tuning).toMatchObject({ verdict: { state: 'FAILED', cause } });
  });

  it('to report the metric do not end it if one trial has reported it', () => {
    const run = start({ parallelTrialsMax: 4, failedTrialsMax: 5 }).closed(1, success(1), 2);
    expect(run.closed(2, missing, 3).closed(3, missing, 4).closed(4, missing, 5).tuning.status).toBe('SEARCHING');
  });

  it('to report the metric do not end it if one trial has reported a value that is not a number', () => {
    const notFinite: TrialOutcome = { kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: 'It was NaN.' };
    const run = start({ parallelTrialsMax: 5, failedTrialsMax: 9 }).closed(1, notFinite, 2).closed(2, missing, 3);
    expect(run.closed(3, missing, 4).closed(4, missing, 5).tuning.status).toBe('SEARCHING');
  });

  it('of all trials fail the tuning, though no limit was reached', () => {
    const run = start({ trialsMax: 2, failedTrialsMax: 9 })
      .closed(1, failed('OUT_OF_MEMORY'), 2)
      .closed(2, lost('CANCELLED_BY_USER'), 3);
    expect(run.tuning).toMatchObject({
      status: 'CLOSED',
      verdict: { state: 'FAILED', cause: { code: 'OUT_OF_MEMORY' } },
    });
  });

  it('without any trial have a cause, too', () => {
    expect(new TuningRun(accept()).chosen(1, 0).tuning).toMatchObject({
      status: 'CLOSED',
      verdict: { state: 'FAILED', cause: { code: 'NO_TRIAL_SUCCEEDED' } },
    });
  });

  it('to choose values are retried under other ordinals, and fail the tuning the third time', () => {
    const run = new TuningRun(accept()).exhausted(1);
    expect(run.requests).toEqual(['SUGGEST 3+2']);
    expect(run.exhausted(1).tuning).toBe(run.tuning);
    const failing = run.exhausted(3).exhausted(5);
    expect(failing.tuning).toMatchObject({
      verdict: { cause: { code: 'SUGGESTION_FAILED', evidence: ['It threw.'] } },
    });
  });
});
