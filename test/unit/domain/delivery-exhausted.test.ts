import { describe, expect, it } from 'vitest';
import { type Job, type JobIn, stateOf, type UnfinishedJob } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { DELIVERY_FAILURES_IN_ROW_MAX, TIMEOUTS } from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, PLACEMENT, queuedJob } from '../../support/domain/example-job.ts';

const queued = queuedJob();
const preparing = jobAfter(queued, ['PLACEMENT_CHOSEN', 1_000]);
const created = jobAfter(preparing, ['VMS_CREATED', 2_000]);

const giveUp = (job: Job, at: number) => transition(job, eventsFor(job, at).DELIVERY_EXHAUSTED);

/** The same, that often in a row, each about the search of its time. */
function giveUpTimes(job: UnfinishedJob, count: number): UnfinishedJob {
  return Array.from({ length: count }).reduce((current: UnfinishedJob) => {
    const { wakeAt } = current;
    return giveUp(jobAfter(current, ['DEADLINE_PASSED', wakeAt]), wakeAt).job as UnfinishedJob;
  }, job);
}

describe('a message of the provision stage that was given up', () => {
  it('has the search for a place begun anew, after a wait', () => {
    expect(giveUp(queued, 9_000).job).toMatchObject({
      status: 'QUEUED',
      isBackingOff: true,
      placementRound: 2,
      wakeAt: 9_000 + TIMEOUTS.backoffMsMin,
    });
  });

  it('leaves a job its place, where VMs may have come up, and has them asked for again by the same names', () => {
    const { job } = giveUp(preparing, 9_000);
    expect(job).toMatchObject({ status: 'PREPARING', placement: PLACEMENT, placementRound: 2, attempt: 1 });
    const { effects } = transition(job, eventsFor(job, 9_000 + TIMEOUTS.backoffMsMin).DEADLINE_PASSED);
    expect(effects).toEqual([{ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 2 }]);
  });

  it.each([
    { what: 'that looks for a place', job: queued },
    { what: 'that waits for its VMs', job: preparing },
  ])('is what a job $what waits for, with the count, announced each time', ({ job }) => {
    const { job: waiting, effects } = giveUp(job, 9_000);
    expect(waiting.waitingFor).toEqual({
      code: 'INTERNAL_ERROR',
      message: `The provision stage failed to handle job digits (failure 1 of ${DELIVERY_FAILURES_IN_ROW_MAX} in a row).`,
      evidence: ['It threw.'],
    });
    expect(effects.map(({ type }) => type)).toEqual(['JOB_UPDATE']);
    expect(stateOf(waiting)).toBe('QUEUED');
  });

  it('makes the other copies of it out of date: together they count once', () => {
    const copy = eventsFor(preparing, 9_000).DELIVERY_EXHAUSTED;
    const { job } = transition(preparing, copy);
    expect(transition(job, { ...copy, eventId: 'another copy' })).toEqual({ job, effects: [] });
    expect(job.counts.deliveryFailuresInRow).toBe(1);
  });

  it('does not make a job wait beyond its maxWaitTime', () => {
    expect(giveUp(queuedJob({ maxWaitMs: 10_000 }), 9_000).job).toMatchObject({ wakeAt: 10_000 });
  });

  it.each([
    { what: 'of a job whose VMs are there', job: created, change: {} },
    { what: 'about a search that is over', job: preparing, change: { placementRound: 0 } },
    { what: 'about an attempt that is over', job: preparing, change: { attempt: 0 } },
    { what: 'of another stage', job: preparing, change: { topic: 'teardown' } },
    { what: 'of a job that backs off already', job: giveUp(queued, 9_000).job, change: {} },
  ])('changes nothing $what', ({ job, change }) => {
    expect(transition(job, { ...eventsFor(job, 9_500).DELIVERY_EXHAUSTED, ...change })).toEqual({ job, effects: [] });
  });

  it.each([
    { what: 'that looks for a place', job: queued },
    { what: 'that waits for its VMs', job: preparing as JobIn<'PREPARING'> },
  ])(`ends a job $what with the evidence after ${DELIVERY_FAILURES_IN_ROW_MAX} in a row, and not before`, ({ job }) => {
    expect(giveUpTimes(job, DELIVERY_FAILURES_IN_ROW_MAX - 1)).toMatchObject({ status: job.status });
    expect(giveUpTimes(job, DELIVERY_FAILURES_IN_ROW_MAX)).toMatchObject({
      status: 'CLOSING',
      verdict: { state: 'FAILED', cause: { code: 'INTERNAL_ERROR', evidence: ['It threw.'] } },
    });
  });

  it.each(['PLACEMENT_FAILED', 'VMS_CREATED', 'VMS_PENDING'] as const)(
    'is forgotten once Compute Engine has answered: %s',
    (type) => {
      expect(jobAfter(giveUp(preparing, 9_000).job, [type, 10_000]).counts.deliveryFailuresInRow).toBe(0);
    },
  );
});
