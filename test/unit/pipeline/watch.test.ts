import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/database.ts';
import { openSqliteJobStore } from '#infra/embedded/jobs/sqlite-job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/jobs/sqlite-replica-store.ts';
import { DEADLINES } from '#shared/domain/deadlines.ts';
import { sweep } from '#shared/pipeline/teardown.ts';
import { type WatchPorts, watch } from '#shared/pipeline/watch.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import { simulatedJob } from '../../simulation/simulated-job.ts';

let database: Database;
let ports: WatchPorts;

beforeEach(() => {
  database = openDatabase(':memory:');
  ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    bus: { publish: async () => 'id' },
    deadlines: DEADLINES,
  };
});

afterEach(() => database.close());

it('goes on with the other jobs after one that cannot be handled, and then says so', async () => {
  for (const jobId of ['first', 'poisoned', 'third']) {
    await ports.jobs.create(simulatedJob(jobId, 0), []);
  }
  const { commit } = ports.jobs;
  const jobs = {
    ...ports.jobs,
    commit: (change: Parameters<typeof commit>[0]) => {
      return change.job.jobId === 'poisoned' ? Promise.reject(new Error('It cannot be written.')) : commit(change);
    },
  };

  await expect(watch({ ...ports, jobs }, 1_000_000)).rejects.toThrow('It cannot be written.');

  const due = await ports.jobs.listDue(1_000_000, 10);
  expect(due.map(({ jobId }) => jobId)).toEqual(['poisoned']);
});

it('sweeps the other VMs after one that cannot be deleted', async () => {
  const vms = ['a', 'b', 'c'].map((name): Vm => {
    return { vmName: name, zone: 'z', instanceId: name, jobId: `gone-${name}`, attempt: 1, status: 'RUNNING' };
  });
  const deleted: string[] = [];
  const provider = {
    create: async () => ({ outcome: 'CREATED', instanceId: '1' }) as const,
    list: async () => vms,
    async delete({ vmName }: { readonly vmName: string }) {
      if (vmName === 'b') {
        throw new Error('Compute Engine is unavailable.');
      }
      deleted.push(vmName);
      return 'GONE' as const;
    },
  };

  await expect(sweep({ ...ports, vms: provider }, 1_000)).rejects.toThrow('Compute Engine is unavailable.');

  expect(deleted).toEqual(['a', 'c']);
});
