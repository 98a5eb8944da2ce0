import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  SETUP_MS_MAX,
  STABLE_RUN_MS,
  TIMEOUTS,
  UPLOAD_GRACE_MS,
} from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const HOUR_MS = 3_600_000;

/** Placed, created and with the master's first heartbeat within the first second. */
const settingUp = jobAfter(
  queuedJob(),
  ['PLACEMENT_CHOSEN', 1_000],
  ['VMS_CREATED', 1_000],
  ['REPLICA_REPORTED', 1_000],
);
const running = jobAfter(settingUp, ['REPLICA_STARTED', 1_000]);

/** The next attempt after an interruption, running from this time on. */
function runAgain(job: Job, at: number): Job {
  return jobAfter(job, ['PLACEMENT_CHOSEN', at], ['VMS_CREATED', at], ['REPLICA_STARTED', at]);
}

describe('setup', () => {
  it('is not a boot failure, since the master has sent a heartbeat', () => {
    const at = 1_000 + TIMEOUTS.bootMs;
    expect(jobAfter(settingUp, ['DEADLINE_PASSED', at], ['DEADLINE_PASSED', 1_000 + SETUP_MS_MAX - 1])).toBe(settingUp);
  });

  it('has a limit of its own, after which the job fails', () => {
    expect(jobAfter(settingUp, ['DEADLINE_PASSED', 1_000 + SETUP_MS_MAX])).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: 'SETUP_TIMED_OUT' } },
    });
  });

  it('is recorded once per attempt, for the master only', () => {
    const [again, worker] = [eventsFor(settingUp, 9_000).REPLICA_REPORTED, { replica: 'worker-0' }];
    expect(transition(settingUp, again)).toEqual({ job: settingUp, effects: [] });
    const booting = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 1_000]);
    expect(transition(booting, { ...eventsFor(booting, 2_000).REPLICA_REPORTED, ...worker }).job).toBe(booting);
  });

  it('does not delay the repeated request for the other VMs if Compute Engine has not answered', () => {
    const unconfirmed = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['REPLICA_REPORTED', 2_000]);
    const at = 1_000 + TIMEOUTS.provisionAnswerMs;
    expect(transition(unconfirmed, eventsFor(unconfirmed, at).DEADLINE_PASSED).effects).toMatchObject([
      { type: 'PROVISION' },
    ]);
    expect(jobAfter(unconfirmed, ['VMS_CREATED', 3_000])).toMatchObject({ wakeAt: 3_000 + SETUP_MS_MAX });
  });

  it('counts towards maxWaitTime, as on AI Platform', () => {
    const job = jobAfter(
      queuedJob({ maxWaitMs: HOUR_MS }),
      ['PLACEMENT_CHOSEN', 1_000],
      ['VMS_CREATED', 1_000],
      ['REPLICA_REPORTED', 2_000],
      ['DEADLINE_PASSED', HOUR_MS],
    );
    expect(job).toMatchObject({ status: 'CLOSING', verdict: { cause: { code: 'MAX_WAIT_TIME_EXCEEDED' } } });
  });
});

describe('a cluster', () => {
  it('does not run before all of its VMs exist, even if its master runs', () => {
    const unconfirmed = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['REPLICA_REPORTED', 2_000]);
    expect(jobAfter(unconfirmed, ['REPLICA_STARTED', 3_000])).toBe(unconfirmed);
    expect(jobAfter(unconfirmed, ['VMS_CREATED', 3_000], ['REPLICA_STARTED', 4_000]).status).toBe('RUNNING');
  });

  it.each(['worker-0', 'ps-0', 'evaluator-0'])(
    'goes on when %s has succeeded, and ends when it has failed',
    (replica) => {
      const exited = { ...eventsFor(running, 90_000).REPLICA_EXITED, replica };
      expect(transition(running, exited).job).toBe(running);
      const cause = causeOf('PROGRAM_FAILED', 'The program exited with status 1.');
      const { job, effects } = transition(running, { ...exited, exit: { outcome: 'FAILED', cause } });
      expect(job).toMatchObject({ status: 'CLOSING', verdict: { state: 'FAILED', cause } });
      expect(effects).toContainEqual({ type: 'TEARDOWN', jobId: 'digits' });
    },
  );

  it('fails if one of its VMs never boots, although its master runs each time', () => {
    const cause = causeOf('VM_BOOT_TIMED_OUT', 'Replica worker-0 did not report.');
    const ends = Array.from({ length: BOOT_FAILURES_IN_ROW_MAX }, (_, index) => (index + 1) * 1_000_000);
    const job = ends.reduce((current: Job, at) => {
      const again = current.status === 'QUEUED' ? runAgain(current, at - TIMEOUTS.bootMs) : current;
      return transition(again, { ...eventsFor(again, at).ATTEMPT_INTERRUPTED, cause }).job;
    }, running);
    expect(job).toMatchObject({ status: 'CLOSING', verdict: { cause: { code: 'BOOT_FAILED_REPEATEDLY' } } });
  });
});

describe('uploading outputs', () => {
  const lastMs = 1_000 + HOUR_MS + TIMEOUTS.maxRunningGraceMs;

  it('may exceed maxRunningTime by the upload grace period', () => {
    const uploading = jobAfter(running, ['REPLICA_UPLOADING', 3_000_000]);
    expect(jobAfter(running, ['DEADLINE_PASSED', lastMs]).status).toBe('CLOSING');
    expect(jobAfter(uploading, ['DEADLINE_PASSED', lastMs])).toBe(uploading);
    expect(jobAfter(uploading, ['DEADLINE_PASSED', lastMs], ['REPLICA_EXITED', lastMs + 1])).toMatchObject({
      verdict: { state: 'SUCCEEDED' },
    });
    expect(jobAfter(uploading, ['DEADLINE_PASSED', lastMs + UPLOAD_GRACE_MS])).toMatchObject({
      verdict: { state: 'FAILED', cause: { code: 'MAX_RUNNING_TIME_EXCEEDED' } },
    });
  });

  it('gets the grace period once per attempt, for the master only', () => {
    const uploading = jobAfter(running, ['REPLICA_UPLOADING', 3_000_000]);
    expect(jobAfter(uploading, ['REPLICA_UPLOADING', 3_100_000])).toBe(uploading);
    const worker = { ...eventsFor(running, 3_000_000).REPLICA_UPLOADING, replica: 'worker-0' };
    expect(transition(running, worker).job).toBe(running);
  });
});

describe('maxRunningTime', () => {
  it('counts the time that attempts were RUNNING, not the time between them', () => {
    const ranMs = 600_000;
    const waiting = jobAfter(running, ['ATTEMPT_INTERRUPTED', 1_000 + ranMs]);
    expect(waiting).toMatchObject({ status: 'QUEUED', ranMs });
    const again = runAgain(waiting, 20 * HOUR_MS);
    const wakeAt = 20 * HOUR_MS + HOUR_MS - ranMs + TIMEOUTS.maxRunningGraceMs;
    expect(again).toMatchObject({ status: 'RUNNING', ranMs, wakeAt });
    expect(jobAfter(again, ['DEADLINE_PASSED', wakeAt])).toMatchObject({
      verdict: { cause: { code: 'MAX_RUNNING_TIME_EXCEEDED' } },
    });
  });

  it('prevents a new attempt once it is used up', () => {
    const halfway = runAgain(jobAfter(running, ['ATTEMPT_INTERRUPTED', 1_000 + HOUR_MS / 2]), 9 * HOUR_MS);
    const spent = jobAfter(halfway, ['ATTEMPT_INTERRUPTED', 9 * HOUR_MS + HOUR_MS / 2]);
    expect(spent).toMatchObject({ status: 'CLOSING', verdict: { cause: { code: 'MAX_RUNNING_TIME_EXCEEDED' } } });
  });

  it('is used up by attempts that ran for a while, which bounds their number', () => {
    const settled = jobAfter(running, ['ATTEMPT_INTERRUPTED', 1_000 + STABLE_RUN_MS]);
    expect(settled.ranMs).toBeGreaterThanOrEqual(STABLE_RUN_MS);
  });
});
