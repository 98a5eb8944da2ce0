import { describe, expect, it } from 'vitest';
import { type Job, type JobIn, stateOf, type UnfinishedJob } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { DELIVERY_FAILURES_IN_ROW_MAX, TIMEOUTS } from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, PLACEMENT, queuedJob } from '../../support/domain/example-job.ts';

const queued = queuedJob();
const preparing = jobAfter(queued, ['PLACEMENT_CHOSEN', 1_000]);
const created = jobAfter(preparing, ['VMS_CREATED', 2_000]);

const exhaustDelivery = (job: Job, at: number) => transition(job, eventsFor(job, at).DELIVERY_EXHAUSTED);

/** The job after `count` dead letters in a row, each about the placement round that was current then. */
function exhaustDeliveries(job: UnfinishedJob, count: number): UnfinishedJob {
  return Array.from({ length: count }).reduce((current: UnfinishedJob) => {
    const { wakeAt } = current;
    return exhaustDelivery(jobAfter(current, ['DEADLINE_PASSED', wakeAt]), wakeAt).job as UnfinishedJob;
  }, job);
}

describe('a dead letter of the provision stage', () => {
  it('starts a new placement round after a backoff', () => {
    expect(exhaustDelivery(queued, 9_000).job).toMatchObject({
      status: 'QUEUED',
      isBackingOff: true,
      placementRound: 2,
      wakeAt: 9_000 + TIMEOUTS.backoffMsMin,
    });
  });

  it('keeps the placement, where VMs may exist, and requests them again under the same names', () => {
    const { job } = exhaustDelivery(preparing, 9_000);
    expect(job).toMatchObject({ status: 'PREPARING', placement: PLACEMENT, placementRound: 2, attempt: 1 });
    const { effects } = transition(job, eventsFor(job, 9_000 + TIMEOUTS.backoffMsMin).DEADLINE_PASSED);
    expect(effects).toEqual([{ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 2 }]);
  });

  it.each([
    { what: 'that is QUEUED', job: queued },
    { what: 'that is PREPARING', job: preparing },
  ])('is the reason for waiting of a job $what, with its count, published each time', ({ job }) => {
    const { job: waiting, effects } = exhaustDelivery(job, 9_000);
    expect(waiting.waitingFor).toEqual({
      code: 'INTERNAL_ERROR',
      message: `The provision stage failed to handle job digits (failure 1 of ${DELIVERY_FAILURES_IN_ROW_MAX} in a row).`,
      evidence: ['It threw.'],
    });
    expect(effects.map(({ type }) => type)).toEqual(['JOB_UPDATE']);
    expect(stateOf(waiting)).toBe('QUEUED');
  });

  it('makes other copies of the message stale, so that they count once together', () => {
    const copy = eventsFor(preparing, 9_000).DELIVERY_EXHAUSTED;
    const { job } = transition(preparing, copy);
    expect(transition(job, { ...copy, eventId: 'another copy' })).toEqual({ job, effects: [] });
    expect(job.counts.deliveryFailuresInRow).toBe(1);
  });

  it('does not delay the job beyond its maxWaitTime', () => {
    expect(exhaustDelivery(queuedJob({ maxWaitMs: 10_000 }), 9_000).job).toMatchObject({ wakeAt: 10_000 });
  });

  it.each([
    { what: 'of a job whose VMs exist', job: created, change: {} },
    { what: 'about an earlier placement round', job: preparing, change: { placementRound: 0 } },
    { what: 'about an earlier attempt', job: preparing, change: { attempt: 0 } },
    { what: 'of another stage', job: preparing, change: { topic: 'teardown' } },
    { what: 'of a job that is backing off already', job: exhaustDelivery(queued, 9_000).job, change: {} },
  ])('is ignored $what', ({ job, change }) => {
    expect(transition(job, { ...eventsFor(job, 9_500).DELIVERY_EXHAUSTED, ...change })).toEqual({ job, effects: [] });
  });

  it.each([
    { what: 'that is QUEUED', job: queued },
    { what: 'that is PREPARING', job: preparing as JobIn<'PREPARING'> },
  ])(
    `fails a job $what with the evidence after ${DELIVERY_FAILURES_IN_ROW_MAX} in a row, and not before`,
    ({ job }) => {
      expect(exhaustDeliveries(job, DELIVERY_FAILURES_IN_ROW_MAX - 1)).toMatchObject({ status: job.status });
      expect(exhaustDeliveries(job, DELIVERY_FAILURES_IN_ROW_MAX)).toMatchObject({
        status: 'CLOSING',
        verdict: { state: 'FAILED', cause: { code: 'INTERNAL_ERROR', evidence: ['It threw.'] } },
      });
    },
  );

  it.each(['PLACEMENT_FAILED', 'VMS_CREATED', 'VMS_PENDING'] as const)(
    'is no longer counted once Compute Engine has answered: %s',
    (type) => {
      expect(jobAfter(exhaustDelivery(preparing, 9_000).job, [type, 10_000]).counts.deliveryFailuresInRow).toBe(0);
    },
  );
});
