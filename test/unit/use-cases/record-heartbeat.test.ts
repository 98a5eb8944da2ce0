import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import type { Job, ReplicaId } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE, type Replica } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import type { PeerPorts } from '#shared/use-cases/heartbeat/peer-secret.ts';
import { type HeartbeatPorts, recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import type { MeasurementPorts } from '#shared/use-cases/heartbeat/record-measurements.ts';
import { type ReconcilePorts, reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { simulatedJob } from '../../simulation/simulated-job.ts';
import { noLog } from '../../support/collected-log.ts';
import { eventsFor, jobAfter, PLACEMENT } from '../../support/domain/example-job.ts';
import { noUpdates } from '../../support/use-cases/updates.ts';

const MASTER: ReplicaId = { role: 'master', index: 0 };
const WORKER: ReplicaId = { role: 'worker', index: 0 };
const HEARTBEAT_MS = 30_000;

let database: Database;
let ports: HeartbeatPorts & MeasurementPorts & PeerPorts & ReconcilePorts;
let commits: string[];
let sequence: number;

beforeEach(async () => {
  database = openDatabase(':memory:');
  commits = [];
  sequence = 0;
  const jobs = openSqliteJobStore(database);
  ports = {
    jobs: {
      ...jobs,
      commit(change) {
        commits.push(change.eventId.replace(/-.*/, ''));
        return jobs.commit(change);
      },
    },
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    deploymentKey: openSqliteDeploymentKey(database),
    logger: noLog,
  };
});

afterEach(() => database.close());

/** A master and a worker, requested from Compute Engine at time 0. */
const placed = jobAfter(simulatedJob('pair', 0, { others: [{ role: 'worker', count: 1 }] }), ['PLACEMENT_CHOSEN', 0]);

function vmsCreated(at: number): JobEvent {
  const instances = [MASTER, WORKER].map((replica) => ({
    ...replica,
    vmName: nameOf(replica),
    instanceId: replica.role,
  }));
  return { ...eventsFor(placed, at).VMS_CREATED, instances };
}

/** The pair, confirmed by Compute Engine. */
async function createPair(): Promise<void> {
  await ports.jobs.create(transition(placed, vmsCreated(0)).job, []);
}

const nameOf = (replica: ReplicaId) => vmNameOf('pair', 1, replica);

function sendHeartbeat(replica: ReplicaId, phase: Replica['phase'], at: number) {
  return sendAs(null, { replica, phase, at });
}

type Sent = { readonly replica: ReplicaId; readonly phase: Replica['phase']; readonly at: number };

function sendAs(serviceAccount: string | null, { replica, phase, at }: Sent) {
  sequence += 1;
  const exit = { reason: 'EXITED', exitCode: 0, signal: null, message: 'The program exited.', evidence: [] } as const;
  const heartbeat: Heartbeat = {
    ...replica,
    protocol: 2,
    jobId: 'pair',
    attempt: 1,
    sequence,
    phase,
    usage: { ...NO_USAGE, gpus: [] },
    progress: { ...NO_PROGRESS, metrics: {} },
    exit: phase === 'EXITED' ? { ...exit, evidence: [] } : null,
  };
  const { zone } = PLACEMENT;
  const sender = { vmName: nameOf(replica), zone, instanceId: replica.role, serviceAccount, at };
  return recordHeartbeat(ports, heartbeat, sender);
}

const readJob = async (): Promise<Job | undefined> => (await ports.jobs.read('pair'))?.record;

it.each([
  ['another account of jobs', 'b@p.iam.gserviceaccount.com'],
  ["the deployment's own account", null],
])('stops the VM of a job with its own account that runs as %s, and records nothing', async (_, account) => {
  const spec = { ...placed.spec, serviceAccount: 'a@p.iam.gserviceaccount.com' };
  await ports.jobs.create(transition({ ...placed, spec }, vmsCreated(0)).job, []);

  const answer = await sendAs(account, { replica: MASTER, phase: 'RUNNING', at: 1_000 });

  expect(answer).toMatchObject({
    command: 'STOP',
    reason: expect.stringContaining('does not run as the service account'),
  });
  expect(await ports.replicas.listByAttempt({ jobId: 'pair', attempt: 1 })).toEqual([]);
  expect(await sendAs(spec.serviceAccount, { replica: MASTER, phase: 'RUNNING', at: 2_000 })).toMatchObject({
    command: 'CONTINUE',
  });
});

it('stops a VM with an account of its own that reports for a job of the deployment account', async () => {
  await createPair();
  const answer = await sendAs('a@p.iam.gserviceaccount.com', { replica: MASTER, phase: 'RUNNING', at: 1_000 });
  expect(answer).toMatchObject({ command: 'STOP' });
});

it('does not handle an exit that arrives after a newer heartbeat of the same VM', async () => {
  await createPair();
  await sendHeartbeat(WORKER, 'RUNNING', 500);
  await sendHeartbeat(MASTER, 'RUNNING', 1_000);
  sequence = 9;
  await sendHeartbeat(MASTER, 'RUNNING', 2_000);
  sequence = 4;
  expect(await sendHeartbeat(MASTER, 'EXITED', 3_000)).toMatchObject({ command: 'CONTINUE', reason: null });
  expect(await readJob()).toMatchObject({ status: 'RUNNING' });
  expect(commits).toEqual(['REPLICA_STARTED']);
});

it('handles an event once, however often it is delivered, and publishes its effects once', async () => {
  await createPair();
  const published: string[] = [];
  const bus: typeof ports.bus = { publish: async (topic) => `${published.push(topic)}` };
  const job = (await readJob()) as Job;
  const event = eventsFor(job, 5_000).CANCEL_REQUESTED;
  const first = await handleJobEvent({ ...ports, bus }, event);
  const count = published.length;
  expect(count).toBeGreaterThan(0);
  expect(await handleJobEvent({ ...ports, bus }, event)).toEqual(first);
  expect(published).toHaveLength(count);
});

it('writes the job four times per attempt, however many heartbeats there are', async () => {
  await createPair();
  const phases = ['BOOTING', 'DOWNLOADING', 'INSTALLING', 'RUNNING', 'UPLOADING'] as const;
  for (const [index, phase] of phases.entries()) {
    for (let beat = 0; beat < 20; beat += 1) {
      const at = (index * 20 + beat) * HEARTBEAT_MS;
      await sendHeartbeat(MASTER, phase, at);
      await sendHeartbeat(WORKER, phase, at);
    }
  }
  await sendHeartbeat(WORKER, 'EXITED', 3_000_000);
  await sendHeartbeat(MASTER, 'EXITED', 3_000_000);

  expect(commits).toEqual(['REPLICA_REPORTED', 'REPLICA_STARTED', 'REPLICA_UPLOADING', 'exited']);
  expect(await readJob()).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
});

it('allows an installation of half an hour while heartbeats arrive', async () => {
  await createPair();
  for (let at = HEARTBEAT_MS; at <= 1_800_000; at += HEARTBEAT_MS) {
    await sendHeartbeat(MASTER, 'INSTALLING', at);
    await sendHeartbeat(WORKER, 'INSTALLING', at);
    await reconcile(ports, at);
  }
  await sendHeartbeat(MASTER, 'RUNNING', 1_801_000);
  await sendHeartbeat(WORKER, 'RUNNING', 1_801_000);

  expect(await readJob()).toMatchObject({ status: 'RUNNING', attempt: 1 });
});

it('ends an installation without heartbeats by its lease, long before the setup timeout', async () => {
  await createPair();
  await sendHeartbeat(MASTER, 'INSTALLING', HEARTBEAT_MS);
  for (let at = 2 * HEARTBEAT_MS; at <= HEARTBEAT_MS + 2 * TIMEOUTS.leaseMs; at += HEARTBEAT_MS) {
    await sendHeartbeat(WORKER, 'INSTALLING', at);
    await reconcile(ports, at);
  }

  expect(await readJob()).toMatchObject({ attempt: 2, ledger: [{ cause: { code: 'HEARTBEAT_LOST' } }] });
});

describe('a cluster that Compute Engine has not confirmed yet', () => {
  beforeEach(() => ports.jobs.create(placed, []));

  it('starts no program: heartbeats are answered WAIT, and CONTINUE once it is confirmed', async () => {
    expect(await sendHeartbeat(MASTER, 'INSTALLING', 1_000)).toMatchObject({ command: 'WAIT' });
    expect(await sendHeartbeat(WORKER, 'WAITING', 2_000)).toMatchObject({ command: 'WAIT' });
    await handleJobEvent(ports, vmsCreated(3_000));

    expect(await sendHeartbeat(MASTER, 'WAITING', 4_000)).toMatchObject({ command: 'CONTINUE', reason: null });
    expect(await sendHeartbeat(WORKER, 'WAITING', 5_000)).toMatchObject({ command: 'CONTINUE', reason: null });
    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1 });
  });

  it('waits for longer than a lease while heartbeats arrive', async () => {
    for (let at = HEARTBEAT_MS; at <= 600_000; at += HEARTBEAT_MS) {
      await sendHeartbeat(MASTER, 'WAITING', at);
      await sendHeartbeat(WORKER, 'WAITING', at);
      await reconcile(ports, at);
    }

    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1, ledger: [] });
  });

  it('is not interrupted by the exit of a VM that is deleted because another one failed', async () => {
    await sendHeartbeat(WORKER, 'WAITING', 1_000);

    expect(await sendHeartbeat(WORKER, 'EXITED', 2_000)).toMatchObject({ command: 'STOP' });
    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1 });
  });

  it('succeeds with an exit that arrived before the confirmation', async () => {
    await sendHeartbeat(MASTER, 'EXITED', 1_000);
    await handleJobEvent(ports, vmsCreated(2_000));
    await reconcile(ports, 1_000 + TIMEOUTS.leaseMs);
    expect(await readJob()).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
  });

  it('starts a new attempt if its master exited before the confirmation', async () => {
    await sendHeartbeat(MASTER, 'EXITED', 1_000);
    await reconcile(ports, 1_000 + TIMEOUTS.leaseMs);
    expect(await readJob()).toMatchObject({ attempt: 2, ledger: [{ cause: { code: 'CLUSTER_INCOMPLETE' } }] });
  });

  it('is not interrupted by a heartbeat from the zone before, recorded after its leases were cleared', async () => {
    const { read } = ports.jobs;
    const emit = async (type: 'PLACEMENT_FAILED' | 'PLACEMENT_CHOSEN', at: number) =>
      handleJobEvent(ports, eventsFor((await read('pair'))?.record ?? placed, at)[type]);
    const readThenMove: typeof read = async (jobId) => {
      const before = await read(jobId);
      ports = { ...ports, jobs: { ...ports.jobs, read } };
      await ports.replicas.clearLeases(jobId, 1);
      await emit('PLACEMENT_FAILED', 2_000);
      await emit('PLACEMENT_CHOSEN', 3_000);
      return before;
    };
    ports = { ...ports, jobs: { ...ports.jobs, read: readThenMove } };
    await sendHeartbeat(WORKER, 'INSTALLING', 1_000);
    expect(await ports.replicas.listByAttempt({ jobId: 'pair', attempt: 1 })).toMatchObject([
      { leaseExpiresAt: 1_000 + TIMEOUTS.leaseMs },
    ]);
    await reconcile(ports, 1_000 + TIMEOUTS.leaseMs + TIMEOUTS.controlPlaneTimeoutMs);

    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1, placementRound: 2, placedAt: 3_000 });
    expect(await ports.replicas.listByAttempt({ jobId: 'pair', attempt: 1 })).toMatchObject([{ leaseExpiresAt: null }]);
  });
});
