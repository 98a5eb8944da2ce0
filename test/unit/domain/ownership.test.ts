import { describe, expect, it } from 'vitest';
import { ownsVm } from '#shared/domain/ownership.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { closedJob, eventsFor, jobAfter, PLACEMENT, queuedJob } from '../../support/domain/example-job.ts';

const master = { role: 'master', index: 0 } as const;
const vm = { vmName: vmNameOf('digits', 1, master), zone: PLACEMENT.zone, instanceId: '101' };

const preparing = jobAfter(queuedJob(), ['PLACEMENT_CHOSEN', 1_000]);
const instances = [{ ...master, vmName: vm.vmName, instanceId: '101' }];
const created = transition(preparing, { ...eventsFor(preparing, 2_000).VMS_CREATED, instances }).job;
const running = jobAfter(created, ['REPLICA_STARTED', 3_000]);

describe('the VMs of a job', () => {
  it('are those of its current attempt, while it has a placement', () => {
    for (const job of [preparing, created, running]) {
      expect(ownsVm(job, vm), job.status).toBe(true);
    }
  });

  it('do not include any VM while it is QUEUED, CLOSING or CLOSED', () => {
    const closing = jobAfter(running, ['CANCEL_REQUESTED', 4_000]);
    for (const job of [queuedJob(), closing, closedJob()]) {
      expect(ownsVm(job, vm), job.status).toBe(false);
    }
  });

  it('do not include VMs of other attempts', () => {
    const second = jobAfter(running, ['ATTEMPT_INTERRUPTED', 100_000], ['PLACEMENT_CHOSEN', 101_000]);
    const next = { ...vm, vmName: vmNameOf('digits', 2, master), instanceId: '201' };
    expect([ownsVm(second, vm), ownsVm(second, next)]).toEqual([false, true]);
    expect([ownsVm(running, vm), ownsVm(running, next)]).toEqual([true, false]);
  });

  it('are in the zone of the placement and have the recorded instance id', () => {
    expect(ownsVm(running, { ...vm, zone: 'us-central1-b' })).toBe(false);
    expect(ownsVm(running, { ...vm, instanceId: '102' })).toBe(false);
    // Before Compute Engine has answered, no instance is recorded: name and zone decide.
    expect(ownsVm(preparing, { ...vm, instanceId: '102' })).toBe(true);
  });

  it('are as many as the cluster has replicas', () => {
    const named = (role: 'worker' | 'ps', index: number) =>
      ownsVm(running, { ...vm, vmName: vmNameOf('digits', 1, { role, index }) });
    expect(named('worker', 0)).toBe(false);
    const [first] = running.spec.replicaGroups;
    const cluster = {
      ...preparing,
      spec: { ...preparing.spec, replicaGroups: [first, { ...first, role: 'worker', count: 2 }] },
    } as const;
    const ofWorker = (index: number) =>
      ownsVm(cluster, { ...vm, vmName: vmNameOf('digits', 1, { role: 'worker', index }) });
    expect([0, 1, 2].map(ofWorker)).toEqual([true, true, false]);
  });
});
