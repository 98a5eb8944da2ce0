import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { type Job, type ReplicaId, replicaName } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE, type Replica } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { SETUP_MS_MAX, TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { reconcile, wakeDueJobs } from '#shared/use-cases/reconcile/reconcile.ts';
import { simulatedJob } from '../../simulation/simulated-job.ts';
import { noLog } from '../../support/collected-log.ts';
import { eventsFor, jobAfter, PLACEMENT } from '../../support/domain/example-job.ts';
import { noUpdates } from '../../support/use-cases/updates.ts';

const MASTER: ReplicaId = { role: 'master', index: 0 };
const WORKERS: readonly ReplicaId[] = [0, 1, 2].map((index) => ({ role: 'worker', index }));
const EVERY = [MASTER, ...WORKERS];

let database: Database;
let ports: ReturnType<typeof openPorts>;
let lists: number;
let sequence: number;

function openPorts() {
  const replicas = openSqliteReplicaStore(database);
  return {
    jobs: openSqliteJobStore(database),
    replicas: {
      ...replicas,
      listByAttempt(attempt: Pick<Replica, 'jobId' | 'attempt'>) {
        lists += 1;
        return replicas.listByAttempt(attempt);
      },
    },
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    deploymentKey: openSqliteDeploymentKey(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    logger: noLog,
  };
}

async function open(): Promise<void> {
  database = openDatabase(':memory:');
  lists = 0;
  sequence = 0;
  ports = openPorts();
  const shape = { others: [{ role: 'worker', count: WORKERS.length }] } as const;
  const placed = jobAfter(simulatedJob('all', 0, shape), ['PLACEMENT_CHOSEN', 0]);
  const instances = EVERY.map((id) => ({ ...id, vmName: nameOf(id), instanceId: replicaName(id) }));
  await ports.jobs.create(transition(placed, { ...eventsFor(placed, 0).VMS_CREATED, instances }).job, []);
}

beforeEach(open);
afterEach(() => database.close());

const nameOf = (id: ReplicaId) => vmNameOf('all', 1, id);

const exited = (exitCode: number) => {
  const message = `The program exited with status ${exitCode}.`;
  return { reason: 'EXITED', exitCode, signal: null, message, evidence: [] } as const;
};

type Sent = { readonly phase: Replica['phase']; readonly at: number } & Pick<Partial<Heartbeat>, 'pendingExit'>;

function send(id: ReplicaId, { at, ...facts }: Sent) {
  sequence += 1;
  const heartbeat: Heartbeat = {
    ...id,
    protocol: 2,
    jobId: 'all',
    attempt: 1,
    sequence,
    usage: { ...NO_USAGE, gpus: [] },
    progress: { ...NO_PROGRESS, metrics: {} },
    ...(['UPLOADING', 'EXITED'].includes(facts.phase) && { programEnd: { at, secondsAgo: 0 } }),
    exit: facts.phase === 'EXITED' ? { ...exited(0), evidence: [] } : null,
    ...facts,
  };
  const sender = { vmName: nameOf(id), instanceId: replicaName(id), zone: PLACEMENT.zone, serviceAccount: null, at };
  return recordHeartbeat(ports, heartbeat, sender);
}

const readJob = async (): Promise<Job | undefined> => (await ports.jobs.read('all'))?.record;

it('a cluster runs when the program of its last replica has started, whichever that is and however others end', async () => {
  const phases = fc.constantFrom<Replica['phase']>('RUNNING', 'UPLOADING', 'EXITED');
  const orders = fc.shuffledSubarray(EVERY, { minLength: EVERY.length });
  await fc.assert(
    fc.asyncProperty(
      orders,
      fc.array(phases, { minLength: 2, maxLength: 2 }),
      fc.boolean(),
      async (order, ends, atOnce) => {
        database.close();
        await open();
        for (const [index, id] of order.slice(0, -2).entries()) {
          await send(id, { phase: id === MASTER ? 'RUNNING' : (ends[index] ?? 'RUNNING'), at: 1_000 });
          expect(await readJob()).toMatchObject({ status: 'PREPARING' });
        }
        const [last = MASTER, other = MASTER] = order.slice(-2);
        const sent = send(last, { phase: 'RUNNING', at: 9_000 });
        if (!atOnce) {
          await sent;
          expect(await readJob()).toMatchObject({ status: 'PREPARING' });
        }
        await Promise.all([sent, send(other, { phase: 'RUNNING', at: 9_000 })]);
        const job = await readJob();
        expect(job).toMatchObject({ status: 'RUNNING', ranAt: 9_000 });
        expect(job?.history.filter(({ event }) => event === 'REPLICA_STARTED')).toHaveLength(1);
      },
    ),
    { numRuns: 60 },
  );
});

it('each replica reads the records of the others once, and the master with each heartbeat until all have started', async () => {
  const [late = MASTER, ...early] = WORKERS;
  for (let beat = 1; beat <= 30; beat += 1) {
    await send(late, { phase: 'INSTALLING', at: beat * 20_000 });
    for (const id of [MASTER, ...early]) {
      await send(id, { phase: 'RUNNING', at: beat * 20_000 });
    }
  }
  expect(lists).toBe(30 + early.length);
  await send(late, { phase: 'RUNNING', at: 700_000 });
  expect(await readJob()).toMatchObject({ status: 'RUNNING', ranAt: 700_000 });
  await send(MASTER, { phase: 'RUNNING', at: 710_000 });
  expect(lists).toBe(30 + early.length + 1);
});

it.each<{ readonly by: string; readonly recover: () => Promise<unknown> }>([
  { by: 'the next heartbeat of the master', recover: () => send(MASTER, { phase: 'RUNNING', at: 9_000 }) },
  { by: 'the deadline of the setup', recover: () => wakeDueJobs(ports, 1_000 + SETUP_MS_MAX) },
])('a start that processes died before they could evaluate is found by $by', async ({ recover }) => {
  const { replicas } = ports;
  await send(MASTER, { phase: 'INSTALLING', at: 1_000 });
  ports = { ...ports, replicas: { ...replicas, listByAttempt: () => Promise.reject(new Error('killed')) } };
  for (const id of EVERY) {
    await expect(send(id, { phase: 'RUNNING', at: 2_000 })).rejects.toThrow('killed');
  }
  ports = { ...ports, replicas };
  expect(await readJob()).toMatchObject({ status: 'PREPARING' });
  await recover();
  expect(await readJob()).toMatchObject({ status: 'RUNNING', attempt: 1 });
});

it('a cluster whose programs never all start ends with the replica that did not start, and what it was doing', async () => {
  const [stuck = MASTER, ...early] = WORKERS;
  for (let at = 20_000; at <= SETUP_MS_MAX; at += 40_000) {
    await send(stuck, { phase: 'INSTALLING', at });
    for (const id of [MASTER, ...early]) {
      await send(id, { phase: 'RUNNING', at });
    }
    await reconcile(ports, at);
  }
  await reconcile(ports, 20_000 + SETUP_MS_MAX);
  expect(await readJob()).toMatchObject({
    status: 'CLOSING',
    verdict: {
      cause: {
        code: 'SETUP_TIMED_OUT',
        message: expect.stringContaining('worker-0 is installing packages; master-0, worker-1 and worker-2 wait'),
      },
    },
  });
});

it('a master that has succeeded waits for no program that has not started', async () => {
  await send(MASTER, { phase: 'UPLOADING', at: 1_000, pendingExit: { ...exited(1), evidence: [] } });
  expect(await readJob()).toMatchObject({ status: 'PREPARING' });
  await send(MASTER, { phase: 'UPLOADING', at: 2_000, pendingExit: { ...exited(0), evidence: [] } });
  await send(MASTER, { phase: 'UPLOADING', at: 3_000, pendingExit: { ...exited(0), evidence: [] } });
  expect(await readJob()).toMatchObject({ status: 'RUNNING', ranAt: 2_000, uploadingAt: 3_000 });
});
