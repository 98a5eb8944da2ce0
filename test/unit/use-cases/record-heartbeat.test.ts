import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import type { Job, ReplicaId } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE, type ReplicaPhase } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { handleJobEvent } from '#shared/use-cases/handle-job-event.ts';
import { type HeartbeatPorts, recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { simulatedJob } from '../../simulation/simulated-job.ts';
import { eventsFor, jobAfter, PLACEMENT } from '../../support/domain/example-job.ts';

const MASTER: ReplicaId = { role: 'master', index: 0 };
const WORKER: ReplicaId = { role: 'worker', index: 0 };
const BEAT_MS = 30_000;

let database: Database;
let ports: HeartbeatPorts;
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
    bus: { publish: async () => 'id' },
    timeouts: TIMEOUTS,
  };
});

afterEach(() => database.close());

/** A pair of machines that Compute Engine was asked for, at time 0. */
const placed = jobAfter(simulatedJob('pair', 0, { others: [{ role: 'worker', count: 1 }] }), ['PLACEMENT_CHOSEN', 0]);

function vmsCreated(at: number): JobEvent {
  const instances = [MASTER, WORKER].map((replica) => ({
    ...replica,
    vmName: nameOf(replica),
    instanceId: replica.role,
  }));
  return { ...eventsFor(placed, at).VMS_CREATED, instances };
}

/** The pair, which Compute Engine has said it created. */
async function createPair(): Promise<void> {
  await ports.jobs.create(transition(placed, vmsCreated(0)).job, []);
}

const nameOf = (replica: ReplicaId) => vmNameOf('pair', 1, replica);

function say(replica: ReplicaId, phase: ReplicaPhase, at: number) {
  sequence += 1;
  const exit = { reason: 'EXITED', exitCode: 0, signal: null, message: 'It ended.', evidence: [] } as const;
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
  return recordHeartbeat(ports, heartbeat, { vmName: nameOf(replica), zone, instanceId: replica.role, at });
}

const readJob = async (): Promise<Job | undefined> => (await ports.jobs.read('pair'))?.job;

it('writes the job four times in an attempt, however many heartbeats there are', async () => {
  await createPair();
  const phases = ['BOOTING', 'DOWNLOADING', 'INSTALLING', 'RUNNING', 'UPLOADING'] as const;
  for (const [index, phase] of phases.entries()) {
    for (let beat = 0; beat < 20; beat += 1) {
      const at = (index * 20 + beat) * BEAT_MS;
      await say(MASTER, phase, at);
      await say(WORKER, phase, at);
    }
  }
  await say(WORKER, 'EXITED', 3_000_000);
  await say(MASTER, 'EXITED', 3_000_000);

  expect(commits).toEqual(['REPLICA_REPORTED', 'REPLICA_STARTED', 'REPLICA_UPLOADING', 'exited']);
  expect(await readJob()).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
});

it('lets a program install for half an hour, as long as it says so', async () => {
  await createPair();
  for (let at = BEAT_MS; at <= 1_800_000; at += BEAT_MS) {
    await say(MASTER, 'INSTALLING', at);
    await say(WORKER, 'INSTALLING', at);
    await reconcile(ports, at);
  }
  await say(MASTER, 'RUNNING', 1_801_000);

  expect(await readJob()).toMatchObject({ status: 'RUNNING', attempt: 1 });
});

it('ends an installation that falls silent by its lease, long before its time for setting up is over', async () => {
  await createPair();
  await say(MASTER, 'INSTALLING', BEAT_MS);
  for (let at = 2 * BEAT_MS; at <= BEAT_MS + 2 * TIMEOUTS.leaseMs; at += BEAT_MS) {
    await say(WORKER, 'INSTALLING', at);
    await reconcile(ports, at);
  }

  expect(await readJob()).toMatchObject({ attempt: 2, ledger: [{ cause: { code: 'HEARTBEAT_LOST' } }] });
});

it('takes a master that saves for one that has run, when the heartbeat that said so was lost', async () => {
  await createPair();
  await say(MASTER, 'INSTALLING', 1_000);
  await say(MASTER, 'UPLOADING', 2_000);
  await say(MASTER, 'UPLOADING', 3_000);

  expect(await readJob()).toMatchObject({ status: 'RUNNING', ranAt: 2_000, uploadingAt: 3_000 });
});

describe('a cluster of which Compute Engine has not said yet that it exists', () => {
  beforeEach(() => ports.jobs.create(placed, []));

  it('starts no program: its agents are told to wait, and to go on as soon as it is there', async () => {
    expect(await say(MASTER, 'INSTALLING', 1_000)).toMatchObject({ command: 'WAIT' });
    expect(await say(WORKER, 'WAITING', 2_000)).toMatchObject({ command: 'WAIT' });
    await handleJobEvent(ports, vmsCreated(3_000));

    expect(await say(MASTER, 'WAITING', 4_000)).toEqual({ command: 'CONTINUE', reason: null });
    expect(await say(WORKER, 'WAITING', 5_000)).toEqual({ command: 'CONTINUE', reason: null });
    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1 });
  });

  it('waits for longer than a lease, as long as it says so', async () => {
    for (let at = BEAT_MS; at <= 600_000; at += BEAT_MS) {
      await say(MASTER, 'WAITING', at);
      await say(WORKER, 'WAITING', at);
      await reconcile(ports, at);
    }

    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1, ledger: [] });
  });

  it('is not interrupted by the end of a VM that is deleted beside a refused one', async () => {
    await say(WORKER, 'WAITING', 1_000);

    expect(await say(WORKER, 'EXITED', 2_000)).toMatchObject({ command: 'STOP' });
    expect(await readJob()).toMatchObject({ status: 'PREPARING', attempt: 1 });
  });

  it('succeeds by an end that came before the word that it is there', async () => {
    await say(MASTER, 'EXITED', 1_000);
    await handleJobEvent(ports, vmsCreated(2_000));
    await reconcile(ports, 1_000 + TIMEOUTS.leaseMs);
    expect(await readJob()).toMatchObject({ status: 'CLOSING', verdict: { state: 'SUCCEEDED' } });
  });

  it('begins anew when its master has ended without it', async () => {
    await say(MASTER, 'EXITED', 1_000);
    await reconcile(ports, 1_000 + TIMEOUTS.leaseMs);
    expect(await readJob()).toMatchObject({ attempt: 2, ledger: [{ cause: { code: 'CLUSTER_INCOMPLETE' } }] });
  });
});
