import { describe, expect, it } from 'vitest';
import { transition } from '#shared/domain/rules/transition.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const queued = queuedJob();
const preparing = jobAfter(queued, ['PLACEMENT_CHOSEN', 1_000]);

describe('a cluster whose machines are not all known to exist', () => {
  const [master] = queued.spec.replicaGroups;
  const replicaGroups = [master, { ...master, role: 'worker' }] as const;
  const half = { ...preparing, spec: { ...queued.spec, replicaGroups } };

  it('has no success: what its master did alone does not count, and a new attempt follows', () => {
    const { job, effects } = transition(half, eventsFor(half, 9_000).REPLICA_EXITED);
    expect(job).toMatchObject({ status: 'QUEUED', attempt: 2, ledger: [{ cause: { code: 'CLUSTER_INCOMPLETE' } }] });
    expect(effects.map(({ type }) => type)).toEqual(['TEARDOWN', 'PROVISION', 'JOB_UPDATE']);
  });

  it('has the success of its master as soon as they are', () => {
    const whole = jobAfter(half, ['VMS_CREATED', 5_000], ['REPLICA_EXITED', 9_000]);
    expect(whole).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
  });

  it('is no matter of a job of one machine, which may end before Compute Engine has answered', () => {
    expect(jobAfter(preparing, ['REPLICA_EXITED', 9_000])).toMatchObject({ verdict: { state: 'SUCCEEDED' } });
  });
});
