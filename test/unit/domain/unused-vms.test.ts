import { describe, expect, it } from 'vitest';
import type { Job } from '#shared/domain/job.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS, UNUSED_VMS_PER_REPLICA_MAX, zoneFallbackBackoffMs } from '#shared/domain/timeouts.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

/** A job of a master and two workers. */
function clusterJob(): Job {
  const job = queuedJob({ restartsMax: 9 });
  const [master] = job.spec.replicaGroups;
  return { ...job, spec: { ...job.spec, replicaGroups: [master, { ...master, role: 'worker', count: 2 }] } };
}

function failPlacement(job: Job, vmsCreated: number): Job {
  const placed = jobAfter(job, ['PLACEMENT_CHOSEN', 1_000]);
  return transition(placed, { ...eventsFor(placed, 2_000).PLACEMENT_FAILED, vmsCreated }).job;
}

function withUnusedVms(unusedVms: number): Job {
  const job = clusterJob();
  return { ...job, counts: { ...job.counts, unusedVms } };
}

describe('VMs on which the program never ran', () => {
  it('are counted if the rest of their cluster could not be created', () => {
    const job = failPlacement(failPlacement(clusterJob(), 2), 1);
    expect(job.counts.unusedVms).toBe(3);
  });

  it('are counted if their attempt ends before the program runs', () => {
    const interrupted = jobAfter(
      clusterJob(),
      ['PLACEMENT_CHOSEN', 1_000],
      ['VMS_CREATED', 2_000],
      ['ATTEMPT_INTERRUPTED', 3_000],
    );
    expect(interrupted).toMatchObject({ attempt: 2, counts: { unusedVms: 3 } });
  });

  it('are not counted while they wait for capacity, which is not billed', () => {
    const pending = jobAfter(clusterJob(), ['PLACEMENT_CHOSEN', 1_000], ['VMS_PENDING', 2_000]);
    expect(jobAfter(pending, ['ATTEMPT_INTERRUPTED', 3_000]).counts.unusedVms).toBe(0);
  });

  it('are counted from 0 once the program has run', () => {
    const running = jobAfter(
      failPlacement(clusterJob(), 2),
      ['PLACEMENT_CHOSEN', 3_000],
      ['VMS_CREATED', 4_000],
      ['REPLICA_STARTED', 5_000],
    );
    expect(running.counts.unusedVms).toBe(0);
    expect(jobAfter(running, ['ATTEMPT_INTERRUPTED', 6_000]).counts.unusedVms).toBe(0);
  });

  it('end the job at the limit, before another one is created, with the reason why they were in vain', () => {
    const limit = 3 * UNUSED_VMS_PER_REPLICA_MAX;
    const below = failPlacement(withUnusedVms(limit - 2), 1);
    expect(jobAfter(below, ['PLACEMENT_CHOSEN', 3_000]).status).toBe('PREPARING');

    const { job, effects } = transition(
      failPlacement(withUnusedVms(limit - 2), 2),
      eventsFor(failPlacement(withUnusedVms(limit - 2), 2), 3_000).PLACEMENT_CHOSEN,
    );
    expect(effects[0]).toMatchObject({ type: 'TEARDOWN' });
    expect(job).toMatchObject({
      status: 'CLOSING',
      verdict: {
        state: 'FAILED',
        cause: {
          code: 'UNUSED_VM_LIMIT_EXCEEDED',
          message:
            '150 VMs of job digits were created and deleted in a row without its program having run; the limit is 150.',
          evidence: ['STOCKOUT: The zone is full.'],
        },
      },
    });
  });

  it('make the longest backoff longer, so that waiting for the rest of a cluster costs less', () => {
    expect(zoneFallbackBackoffMs(99, TIMEOUTS)).toBe(TIMEOUTS.backoffMsMax);
    expect(zoneFallbackBackoffMs(99, TIMEOUTS, { hasUnusedVms: true })).toBe(6 * TIMEOUTS.backoffMsMax);
    expect(zoneFallbackBackoffMs(0, TIMEOUTS, { hasUnusedVms: true })).toBe(TIMEOUTS.backoffMsMin);
  });
});
