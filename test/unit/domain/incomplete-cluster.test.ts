import { describe, expect, it } from 'vitest';
import { transition } from '#shared/domain/rules/transition.ts';
import { eventsFor, jobAfter, queuedJob } from '../../support/domain/example-job.ts';

const queued = queuedJob();
const preparing = jobAfter(queued, ['PLACEMENT_CHOSEN', 1_000]);

describe('a cluster whose VMs are not all confirmed', () => {
  const [master] = queued.spec.replicaGroups;
  const replicaGroups = [master, { ...master, role: 'worker' }] as const;
  const unconfirmed = { ...preparing, spec: { ...queued.spec, replicaGroups } };

  it('starts a new attempt if its master succeeds, since it ran on a part of the cluster', () => {
    const { job, effects } = transition(unconfirmed, eventsFor(unconfirmed, 9_000).REPLICA_EXITED);
    expect(job).toMatchObject({ status: 'QUEUED', attempt: 2, ledger: [{ cause: { code: 'CLUSTER_INCOMPLETE' } }] });
    expect(effects.map(({ type }) => type)).toEqual(['TEARDOWN', 'PROVISION', 'JOB_UPDATE']);
  });

  it('succeeds with its master once they are confirmed', () => {
    const confirmed = jobAfter(unconfirmed, ['VMS_CREATED', 5_000], ['REPLICA_EXITED', 9_000]);
    expect(confirmed).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
  });

  it('does not concern a job of one replica, which may exit before Compute Engine has answered', () => {
    expect(jobAfter(preparing, ['REPLICA_EXITED', 9_000])).toMatchObject({ verdict: { state: 'SUCCEEDED' } });
  });
});
