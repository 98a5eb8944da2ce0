import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { PlacedJob } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { type ReconcilePorts, reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { sweep } from '#shared/use-cases/teardown/teardown.ts';
import { simulatedJob } from '../../simulation/simulated-job.ts';
import { noLog } from '../../support/collected-log.ts';
import { jobAfter } from '../../support/domain/example-job.ts';
import { exampleReplica } from '../../support/domain/example-replica.ts';
import { noUpdates } from '../../support/use-cases/updates.ts';

let database: Database;
let ports: ReconcilePorts;

beforeEach(() => {
  database = openDatabase(':memory:');
  ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    logger: noLog,
  };
});

afterEach(() => database.close());

it('handles the other jobs if one fails, and throws afterwards', async () => {
  for (const jobId of ['first', 'poisoned', 'third']) {
    await ports.jobs.create(simulatedJob(jobId, 0), []);
  }
  const { commit } = ports.jobs;
  const jobs = {
    ...ports.jobs,
    commit: (change: Parameters<typeof commit>[0]) => {
      return change.record.jobId === 'poisoned' ? Promise.reject(new Error('It cannot be written.')) : commit(change);
    },
  };

  await expect(reconcile({ ...ports, jobs }, 1_000_000)).rejects.toThrow('It cannot be written.');

  const due = await ports.jobs.listDue(1_000_000, 10);
  expect(due.map(({ id }) => id)).toEqual(['poisoned']);
});

it('ends the attempt of a replica without any heartbeat, as a boot failure', async () => {
  const job = { ...simulatedJob('pair', 0, { others: [{ role: 'worker', count: 1 }] }), wakeAt: 10 ** 9 };
  const placed = jobAfter(job, ['PLACEMENT_CHOSEN', 1_000], ['VMS_CREATED', 1_000], ['REPLICA_STARTED', 2_000]);
  await ports.jobs.create(placed, []);
  const unbooted = { jobId: 'pair', replica: 'worker-0', sequence: 0, heardAt: 1_000, leaseExpiresAt: 901_000 };
  await ports.replicas.record({ ...exampleReplica(), ...unbooted });

  await reconcile(ports, 900_999 + TIMEOUTS.controlPlaneTimeoutMs);
  expect((await ports.jobs.read('pair'))?.record).toEqual(placed);
  await reconcile(ports, 901_000 + TIMEOUTS.controlPlaneTimeoutMs);

  expect((await ports.jobs.read('pair'))?.record).toMatchObject({
    attempt: 2,
    counts: { bootFailuresInRow: 1 },
    ledger: [{ cause: { code: 'VM_BOOT_TIMED_OUT' } }],
  });
});

describe('a replica that misses its lease', () => {
  const recordHeartbeatOf = async (facts: Partial<Replica>) => {
    await ports.replicas.record({ ...exampleReplica(), ...facts });
  };
  const readAttempt = async () => (await ports.jobs.read('digits'))?.record.attempt;

  beforeEach(async () => {
    const job = { ...simulatedJob('digits', 0), wakeAt: 10 ** 9 };
    const running = jobAfter(job, ['PLACEMENT_CHOSEN', 0], ['VMS_CREATED', 0], ['REPLICA_STARTED', 0]);
    await ports.jobs.create(running, []);
    await recordHeartbeatOf({ heardAt: 0, leaseExpiresAt: 120_000 });
  });

  it('ends its attempt if other replicas reported at two checks and it did not', async () => {
    await recordHeartbeatOf({ jobId: 'other', instanceId: '7', heardAt: 170_000, leaseExpiresAt: null });
    await reconcile(ports, 180_000);
    expect(await readAttempt()).toBe(1);
    await recordHeartbeatOf({ jobId: 'other', instanceId: '7', heardAt: 350_000, leaseExpiresAt: null });
    await reconcile(ports, 360_000);
    expect(await readAttempt()).toBe(2);
  });

  it('is kept while no replica is reporting, until the control-plane timeout of its agent', async () => {
    await recordHeartbeatOf({ jobId: 'other', instanceId: '7', heardAt: 119_999, leaseExpiresAt: null });
    await reconcile(ports, 719_999);
    expect(await readAttempt()).toBe(1);
    await reconcile(ports, 720_000);
    expect(await readAttempt()).toBe(2);
  });

  it('is healthy again after a heartbeat, even if the reconciler ran first after an outage', async () => {
    await recordHeartbeatOf({ jobId: 'other', instanceId: '7', heardAt: 400_000, leaseExpiresAt: null });
    await reconcile(ports, 401_000);
    await recordHeartbeatOf({ sequence: 2, heardAt: 410_000, leaseExpiresAt: 530_000 });
    await reconcile(ports, 461_000);
    expect(await readAttempt()).toBe(1);
    expect(await ports.replicas.findByInstance('101')).not.toHaveProperty('suspectSince');
  });

  it('is classified by the exit that it has reported, whether or not others report', async () => {
    await recordHeartbeatOf({ sequence: 2, phase: 'EXITED', exit: { outcome: 'SUCCEEDED' }, leaseExpiresAt: 120_000 });
    await reconcile(ports, 120_000);
    expect((await ports.jobs.read('digits'))?.record).toMatchObject({ verdict: { state: 'SUCCEEDED' } });
  });

  it('does not end its attempt if its VM is not the one of the job, whose first heartbeat is expected instead', async () => {
    await recordHeartbeatOf({ instanceId: '99', heardAt: 0, leaseExpiresAt: 120_000 });
    const at = 120_000 + TIMEOUTS.controlPlaneTimeoutMs;
    await reconcile(ports, at);
    expect(await readAttempt()).toBe(1);
    expect(await ports.replicas.listByAttempt({ jobId: 'digits', attempt: 1 })).toMatchObject([
      { instanceId: '101', sequence: 0, leaseExpiresAt: at + TIMEOUTS.bootMs },
    ]);
    await reconcile(ports, at + TIMEOUTS.bootMs + TIMEOUTS.controlPlaneTimeoutMs);
    expect((await ports.jobs.read('digits'))?.record).toMatchObject({
      attempt: 2,
      ledger: [{ cause: { code: 'VM_BOOT_TIMED_OUT' } }],
    });
  });

  it('is not found again after its attempt has ended, nor are the others of that attempt', async () => {
    await recordHeartbeatOf({ replica: 'worker-0', instanceId: '102', heardAt: 0, leaseExpiresAt: 120_000 });
    await reconcile(ports, 120_000 + TIMEOUTS.controlPlaneTimeoutMs);
    expect(await readAttempt()).toBe(2);
    expect(await ports.replicas.listExpired(10 ** 9, 10)).toEqual([]);
  });

  it('does not query the newest heartbeat on a tick without expired leases', async () => {
    let questions = 0;
    const lastHeartbeatAt = async () => {
      questions += 1;
      return undefined;
    };
    const counted = { ...ports, replicas: { ...ports.replicas, lastHeartbeatAt } };
    await reconcile(counted, 119_999);
    expect(questions).toBe(0);
    await reconcile(counted, 120_000);
    expect(questions).toBe(1);
  });
});

it('wakes a job again if a late answer has set its deadline back to one that was handled', async () => {
  const placed = jobAfter(simulatedJob('late', 0, { provisioningModel: 'FLEX_START' }), ['PLACEMENT_CHOSEN', 0]);
  await ports.jobs.create(placed, []);
  const deadline = TIMEOUTS.provisionAnswerMs;
  await reconcile(ports, deadline);

  const answer = {
    jobId: 'late',
    at: deadline - TIMEOUTS.pendingMs,
    attempt: 1,
    placementRound: 1,
    until: 9_000_000,
    startedVms: 0,
  };
  await handleJobEvent(ports, { ...answer, type: 'VMS_PENDING', eventId: 'pending-1-1' });
  expect((await ports.jobs.read('late'))?.record).toMatchObject({ wakeAt: deadline });
  await reconcile(ports, deadline + 60_000);

  expect((await ports.jobs.read('late'))?.record).toMatchObject({ wakeAt: deadline + 60_000 + TIMEOUTS.pendingMs });
});

it('the sweep ends the attempt of a VM that Compute Engine lists as TERMINATED', async () => {
  const job = { ...simulatedJob('digits', 0), wakeAt: 10 ** 9 };
  const running = jobAfter(job, ['PLACEMENT_CHOSEN', 0], ['VMS_CREATED', 0], ['REPLICA_STARTED', 0]);
  await ports.jobs.create(running, []);
  const vmName = vmNameOf('digits', 1, { role: 'master', index: 0 });
  const { zone } = (running as PlacedJob).placement;
  const vm: Vm = { vmName, zone, instanceId: '101', jobId: 'digits', attempt: 1, status: 'RUNNING' };
  const provider = (status: Vm['status']) => ({
    list: async () => [{ ...vm, status }],
    delete: async () => 'GONE' as const,
  });

  await sweep({ ...ports, vms: provider('RUNNING') }, 1_000);
  expect((await ports.jobs.read('digits'))?.record).toEqual(running);
  await sweep({ ...ports, vms: provider('TERMINATED') }, 2_000);
  expect((await ports.jobs.read('digits'))?.record).toMatchObject({
    attempt: 2,
    ledger: [{ cause: { code: 'VM_TERMINATED' } }],
  });
});

it('sweeps the other VMs if one cannot be deleted', async () => {
  const vms = ['a', 'b', 'c'].map((name): Vm => {
    return { vmName: name, zone: 'z', instanceId: name, jobId: `gone-${name}`, attempt: 1, status: 'RUNNING' };
  });
  const deleted: string[] = [];
  const provider = {
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
