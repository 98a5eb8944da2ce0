import { describe, expect, it } from 'vitest';
import { type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import { type Job, MASTER } from '#shared/domain/job.ts';
import type { ReplicaExit } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { PROGRAM_STOP_MS_MAX, UPLOAD_GRACE_MS } from '#shared/domain/timeouts.ts';
import { eventsFor, holdingJob, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const START = [
  ['PLACEMENT_CHOSEN', 1_000],
  ['VMS_CREATED', 2_000],
  ['REPLICA_STARTED', 3_000],
] as const;
const queued = queuedJob({ restartsMax: 2 });
const running = jobAfter(queued, ...START);
const stopping = jobAfter(running, ['STOP_REQUESTED', 10_000]);
const pair = pairOf(queued);

const STOPPED_EARLY = { status: 'CLOSING', verdict: { state: 'SUCCEEDED', cause: null, isStoppedEarly: true } };

function pairOf(job: Job): Job {
  const [master] = job.spec.replicaGroups;
  return { ...job, spec: { ...job.spec, replicaGroups: [master, { ...master, role: 'worker' }] } };
}

function failed(code: CauseCode): ReplicaExit {
  return { outcome: 'FAILED', cause: causeOf(code, 'It ended.') };
}

function exited(job: Job, exit: ReplicaExit, facts: { readonly replica?: string; readonly endedAt?: number } = {}) {
  const event: JobEvent = { ...eventsFor(job, 20_000).REPLICA_EXITED, exit, ...facts };
  return transition(job, event).job;
}

describe('a running job that is asked to stop', () => {
  it('goes on until its program has ended, with a deadline for that', () => {
    expect(stopping).toMatchObject({
      status: 'RUNNING',
      stopRequestedAt: 10_000,
      wakeAt: 10_000 + PROGRAM_STOP_MS_MAX + UPLOAD_GRACE_MS,
    });
  });

  it('keeps an earlier deadline, that of maxRunningTime', () => {
    const short = jobAfter(queuedJob({ maxRunningMs: 1_000 }), ...START);
    const stopped = jobAfter(short, ['STOP_REQUESTED', 10_000]);
    expect(stopped).toMatchObject({ stopRequestedAt: 10_000, wakeAt: (short as { wakeAt: number }).wakeAt });
  });

  it('keeps its deadline when the request is repeated and when it saves its outputs', () => {
    const later = jobAfter(stopping, ['STOP_REQUESTED', 50_000], ['REPLICA_UPLOADING', 60_000]);
    expect(later).toMatchObject({ stopRequestedAt: 10_000, wakeAt: (stopping as { wakeAt: number }).wakeAt });
  });

  it('goes on saving its outputs if its program has ended already, as long as after a stop', () => {
    const saving = jobAfter(running, ['REPLICA_UPLOADING', 9_000], ['STOP_REQUESTED', 10_000]);
    expect(saving).toMatchObject({
      status: 'RUNNING',
      uploadingAt: 9_000,
      stopRequestedAt: 10_000,
      wakeAt: 10_000 + PROGRAM_STOP_MS_MAX + UPLOAD_GRACE_MS,
    });
    expect(exited(saving, { outcome: 'SUCCEEDED' })).toMatchObject(STOPPED_EARLY);
  });

  it.each<[string, ReplicaExit]>([
    ['its program succeeds', { outcome: 'SUCCEEDED' }],
    ['the agent has stopped it', failed('VM_TERMINATED')],
    ['its program fails because it was stopped', failed('PROGRAM_KILLED')],
    ['its VM is preempted', failed('PREEMPTED')],
  ])('succeeds when %s', (_, exit) => {
    expect(exited(stopping, exit)).toMatchObject(STOPPED_EARLY);
  });

  it('succeeds when its VM is lost and when it does not end in time', () => {
    expect(jobAfter(stopping, ['ATTEMPT_INTERRUPTED', 20_000])).toMatchObject(STOPPED_EARLY);
    expect(jobAfter(stopping, ['DEADLINE_PASSED', 99_999_999])).toMatchObject(STOPPED_EARLY);
  });

  it('fails if its program had failed by itself before', () => {
    const end = exited(stopping, failed('PROGRAM_FAILED'), { endedAt: 9_000 });
    expect(end).toMatchObject({ status: 'CLOSING', verdict: { state: 'FAILED', cause: { code: 'PROGRAM_FAILED' } } });
  });

  it.each<CauseCode>(['JOB_DIR_UNWRITABLE', 'INTERNAL_ERROR'])('fails if its outputs may be lost: %s', (code) => {
    expect(exited(stopping, failed(code))).toMatchObject({ verdict: { state: 'FAILED', cause: { code } } });
  });

  it('is cancelled when a user cancels it', () => {
    expect(jobAfter(stopping, ['CANCEL_REQUESTED', 20_000])).toMatchObject({ verdict: { state: 'CANCELLED' } });
  });
});

describe('a running cluster that is asked to stop', () => {
  const whole = jobAfter(pair, ...START);
  const stopped = jobAfter(whole, ['STOP_REQUESTED', 10_000]);

  it('waits for its master, whatever its workers do', () => {
    expect(exited(stopped, failed('PROGRAM_FAILED'), { replica: 'worker-0' })).toBe(stopped);
    expect(exited(stopped, failed('VM_TERMINATED'), { replica: 'worker-0' })).toBe(stopped);
    expect(exited(stopped, failed('PROGRAM_FAILED'), { replica: MASTER, endedAt: 9_000 })).toMatchObject(STOPPED_EARLY);
  });

  it('is neither delayed nor failed by a failure that is held', () => {
    const holding = holdingJob(whole, 9_000);
    const released = jobAfter(holding, ['STOP_REQUESTED', 10_000]);
    expect(released).toMatchObject({ heldFailure: null, wakeAt: 10_000 + PROGRAM_STOP_MS_MAX + UPLOAD_GRACE_MS });
    expect(jobAfter(released, ['HELD_FAILURE_RESOLVED', 12_000])).toBe(released);
  });
});

describe('a job without a running program that is asked to stop', () => {
  it.each<[string, Job]>([
    ['it is queued', queued],
    ['its VMs are being created', jobAfter(queued, ['PLACEMENT_CHOSEN', 1_000])],
  ])('is cancelled if it has never run and %s', (_, job) => {
    const end = jobAfter(job, ['STOP_REQUESTED', 5_000]);
    expect(end).toMatchObject({ verdict: { state: 'CANCELLED', cause: { code: 'TRIAL_STOPPED' } } });
  });

  it('succeeds with what an interrupted attempt has saved', () => {
    const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', 200_000]);
    expect(interrupted).toMatchObject({ status: 'QUEUED', attempt: 2 });
    expect(jobAfter(interrupted, ['STOP_REQUESTED', 201_000])).toMatchObject(STOPPED_EARLY);
  });

  it('keeps the verdict that it has', () => {
    const closing = jobAfter(running, ['CANCEL_REQUESTED', 5_000]);
    expect(jobAfter(closing, ['STOP_REQUESTED', 6_000])).toBe(closing);
  });
});
