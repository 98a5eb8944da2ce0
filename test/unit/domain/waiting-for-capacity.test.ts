import { describe, expect, it } from 'vitest';
import { causeOf } from '#shared/domain/cause.ts';
import type { JobEventType } from '#shared/domain/event.ts';
import { billedSince, type Job, type JobIn, stateOf } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const PENDING_AT = 2_000;
const UNTIL = PENDING_AT + 7_200_000;

const pending = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_PENDING', PENDING_AT]) as JobIn<'PREPARING'>;

const [master] = pending.spec.replicaGroups;
const clusterSpec = {
  ...pending.spec,
  provisioningModel: 'FLEX_START',
  replicaGroups: [master, { ...master, role: 'worker', count: 2 }],
} as const;

const afterEvent = (job: Job, type: JobEventType, at: number) => transition(job, eventsFor(job, at)[type]);

describe('a job whose VM waits for capacity at Compute Engine', () => {
  it('is shown as QUEUED, with the reason and the limit of the wait', () => {
    expect(stateOf(pending)).toBe('QUEUED');
    expect(pending.waitingFor).toEqual(
      causeOf(
        'CAPACITY_PENDING',
        'Compute Engine has no capacity in us-central1-a at the moment. It starts the VM when it has, or gives up after 120 min.',
      ),
    );
  });

  it('is re-checked periodically, for as long as the request may wait', () => {
    let job: Job = pending;
    let looks = 0;
    for (let at = pending.wakeAt; at < UNTIL; at += TIMEOUTS.pendingMs) {
      const { job: next, effects } = afterEvent(job, 'DEADLINE_PASSED', at);
      expect(effects).toEqual([{ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 1 }]);
      expect(next).toMatchObject({ status: 'PREPARING', wakeAt: at + TIMEOUTS.pendingMs, pendingUntil: UNTIL });
      job = next;
      looks += 1;
    }
    expect(looks).toBe(59);
  });

  it('is re-checked on the first heartbeat of its VM', () => {
    const { job, effects } = afterEvent(pending, 'REPLICA_REPORTED', 60_000);
    expect(effects).toEqual([{ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 1 }]);
    expect(job).toMatchObject({ reportedAt: 60_000, pendingUntil: UNTIL });
  });

  it('has the full boot timeout from the start of its VM, and is billed from then on', () => {
    const startedAt = UNTIL - 1;
    const { job } = afterEvent(pending, 'VMS_CREATED', startedAt);

    expect(stateOf(job)).toBe('PREPARING');
    expect(job).toMatchObject({ pendingUntil: null, waitingFor: null, wakeAt: startedAt + TIMEOUTS.bootMs });
    expect([billedSince(pending), billedSince(job)]).toEqual([null, startedAt]);
  });

  it('falls back to the next zone, unbilled, if no capacity became available', () => {
    const { job } = afterEvent(pending, 'PLACEMENT_FAILED', UNTIL);
    expect(job).toMatchObject({ status: 'QUEUED', attempt: 1, placementRound: 2, exhaustedZones: ['us-central1-a'] });
  });

  it('of a cluster keeps the VMs that have started for a limited time, and bills them from then on', () => {
    const at = 400_000;
    const started = (job: Job, startedVms: number, time: number) =>
      transition(job, { ...eventsFor(job, time).VMS_PENDING, startedVms }).job as JobIn<'PREPARING'>;
    const cluster = { ...pending, spec: clusterSpec } as Job;
    const assembling = started(cluster, 1, at);
    expect([billedSince(cluster), billedSince(assembling), stateOf(assembling)]).toEqual([null, at, 'QUEUED']);
    expect(assembling.waitingFor?.message).toBe(
      '1 of 3 VMs have started in us-central1-a and are billed while they wait for capacity for the others, for at most 10 min.',
    );
    const more = started(assembling, 2, at + TIMEOUTS.assemblyMs - 1_000);
    expect(more).toMatchObject({ assemblingSince: at, pendingUntil: UNTIL, wakeAt: at + TIMEOUTS.assemblyMs });
    expect(afterEvent(more, 'VMS_CREATED', at + 50_000).job).toMatchObject({ placedAt: at, assemblingSince: null });
  });

  it('of a cluster is re-checked on the first heartbeat of any replica', () => {
    const cluster = { ...pending, spec: clusterSpec } as Job;
    const report = { ...eventsFor(cluster, 60_000).REPLICA_REPORTED, replica: 'worker-1' };
    const { job, effects } = transition(cluster, report);
    expect(effects).toEqual([{ type: 'PROVISION', jobId: 'digits', attempt: 1, placementRound: 1 }]);
    expect(job).toMatchObject({ assemblingSince: 60_000, reportedAt: null });
    expect(transition(job, { ...report, eventId: 'again', replica: 'worker-0' }).job).toBe(job);
  });

  it('of a cluster fails after few VMs that were billed in vain', () => {
    const unusedVms = 6 * 3;
    const queued = { ...queuedJob(), spec: clusterSpec } as Job;
    const tired = { ...queued, counts: { ...queued.counts, unusedVms } };
    expect(afterEvent(tired, 'PLACEMENT_CHOSEN', 1).job).toMatchObject({
      status: 'CLOSING',
      verdict: { cause: { code: 'UNUSED_VM_LIMIT_EXCEEDED' } },
    });
  });

  it('fails if its maxWaitTime is over first, with the reason for waiting as evidence', () => {
    const hasty = jobAfter(queuedJob({ maxWaitMs: 600_000 }), ['PLACEMENT_CHOSEN', 1_000], ['VMS_PENDING', 599_000]);
    expect(hasty).toMatchObject({ wakeAt: 600_000 });
    expect(afterEvent(hasty, 'DEADLINE_PASSED', 600_000).job).toMatchObject({
      verdict: {
        state: 'FAILED',
        cause: { code: 'MAX_WAIT_TIME_EXCEEDED', evidence: [expect.stringMatching(/^CAPACITY_PENDING: /)] },
      },
    });
  });

  it('counts as a boot failure if Compute Engine never answers about its VM', () => {
    const { job } = afterEvent(pending, 'DEADLINE_PASSED', UNTIL + TIMEOUTS.bootMs);
    expect(job).toMatchObject({ status: 'QUEUED', attempt: 2, ledger: [{ placedAt: null }] });
  });

  it('does not fail because one check was lost', () => {
    expect(afterEvent(pending, 'DELIVERY_EXHAUSTED', 60_000)).toEqual({ job: pending, effects: [] });
  });

  it('can be cancelled, which deletes the pending VM', () => {
    const { job, effects } = afterEvent(pending, 'CANCEL_REQUESTED', 60_000);
    expect(stateOf(job)).toBe('CANCELLING');
    expect(effects).toContainEqual({ type: 'TEARDOWN', jobId: 'digits' });
  });

  it('ignores a late or repeated VMS_PENDING', () => {
    const created = afterEvent(pending, 'VMS_CREATED', 60_000).job;
    for (const job of [pending, created]) {
      expect(afterEvent(job, 'VMS_PENDING', 70_000)).toEqual({ job, effects: [] });
    }
  });
});
