import { describe, expect, it } from 'vitest';
import { ATTEMPT_RECORDS_MAX, type Job } from '#shared/domain/job.ts';
import { timelineOf } from '#shared/domain/timeline.ts';
import { jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const running = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 2_000], ['REPLICA_STARTED', 9_000]);
const interrupted = jobAfter(running, ['ATTEMPT_INTERRUPTED', 100_000]);
const again = jobAfter(
  interrupted,
  ['PLACEMENT_CHOSEN', 101_000],
  ['VMS_CREATED', 102_000],
  ['REPLICA_STARTED', 110_000],
);

/** The phases as text: `RUNNING 1000-2000`. */
function phasesOf(job: Job, programEnd: Parameters<typeof timelineOf>[1] = null) {
  return timelineOf(job, programEnd).map(({ phases }) =>
    phases.map(({ phase, startedAt, endedAt }) => `${phase} ${startedAt}-${endedAt ?? ''}`),
  );
}

describe('the timeline of a job', () => {
  it('has the phase in which the job is now, without an end', () => {
    expect(phasesOf(queuedJob())).toEqual([['QUEUED 0-']]);
    expect(phasesOf(jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000]))).toEqual([['QUEUED 0-']]);
    expect(phasesOf(running)).toEqual([['QUEUED 0-1000', 'PREPARING 1000-9000', 'RUNNING 9000-']]);
  });

  it('has each attempt with its zone, and with the cause that ended it', () => {
    expect(phasesOf(again)).toEqual([
      ['QUEUED 0-1000', 'PREPARING 1000-9000', 'RUNNING 9000-100000'],
      ['QUEUED 100000-101000', 'PREPARING 101000-110000', 'RUNNING 110000-'],
    ]);
    expect(timelineOf(again, null)).toMatchObject([
      { attempt: 1, zone: 'us-central1-a', provisioningModel: 'STANDARD', cause: 'PREEMPTED' },
      { attempt: 2, zone: 'us-central1-a', cause: null },
    ]);
  });

  it('tells the saving of outputs apart from the program', () => {
    const saving = jobAfter(running, ['REPLICA_UPLOADING', 50_000]);
    expect(phasesOf(saving).at(-1)?.slice(-2)).toEqual(['RUNNING 9000-50000', 'UPLOADING 50000-']);
    const closed = jobAfter(saving, ['REPLICA_EXITED', 60_000], ['VMS_GONE', 70_000]);
    expect(phasesOf(closed, { attempt: 1, endedAt: 49_000 }).at(-1)?.slice(-3)).toEqual([
      'RUNNING 9000-49000',
      'UPLOADING 49000-60000',
      'CLOSING 60000-70000',
    ]);
  });

  it('stays in order if the clocks of VM and control plane differ', () => {
    const closing = jobAfter(running, ['REPLICA_EXITED', 60_000]);
    expect(phasesOf(closing, { attempt: 1, endedAt: 8_000 }).at(-1)).toEqual([
      'QUEUED 0-1000',
      'PREPARING 1000-9000',
      'UPLOADING 9000-60000',
      'CLOSING 60000-',
    ]);
    expect(phasesOf(closing, { attempt: 1, endedAt: 90_000 }).at(-1)?.slice(-2)).toEqual([
      'RUNNING 9000-60000',
      'CLOSING 60000-',
    ]);
  });

  it('begins with the oldest attempt that is still recorded', () => {
    const [record] = interrupted.ledger;
    if (record === undefined) {
      throw new Error('The interrupted job has no record.');
    }
    const ledger = Array.from({ length: ATTEMPT_RECORDS_MAX }, (_, index) => ({
      ...record,
      attempt: index + 3,
      placedAt: 500_000 + index,
      ranAt: null,
      endedAt: 500_001 + index,
    }));
    const [first] = phasesOf({ ...interrupted, attempt: ATTEMPT_RECORDS_MAX + 3, ledger });
    expect(first).toEqual(['PREPARING 500000-500001']);
  });

  it('has no more than a queue for a job that was cancelled before it had VMs', () => {
    const cancelled = jobAfter(queuedJob(), ['CANCEL_REQUESTED', 1_000], ['VMS_GONE', 2_000]);
    expect(phasesOf(cancelled)).toEqual([['QUEUED 0-1000', 'CLOSING 1000-2000']]);
  });
});
