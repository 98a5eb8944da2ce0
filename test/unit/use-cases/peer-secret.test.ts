import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { Job, JobIn, ReplicaId } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE, type Replica } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import { publishOutboxes } from '#shared/machine/machine.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { jobMachine } from '#shared/use-cases/handle-job-event.ts';
import { withPeerSecret } from '#shared/use-cases/heartbeat/peer-secret.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { vmRequestOf } from '#shared/use-cases/provision/vm-request.ts';
import { simulatedJob, simulatedSettings } from '../../simulation/simulated-job.ts';
import { openApiUnderTest } from '../../support/api/api-under-test.ts';
import { collectLog } from '../../support/collected-log.ts';
import { eventsFor, jobAfter, PLACEMENT } from '../../support/domain/example-job.ts';
import { withUpdates } from '../../support/use-cases/updates.ts';

const MASTER: ReplicaId = { role: 'master', index: 0 };
const WORKER: ReplicaId = { role: 'worker', index: 0 };
const PAIR = { others: [{ role: 'worker', count: 1 }] } as const;

let database: Database;
let shown: unknown[];
let ports: ReturnType<typeof openPorts>;

beforeEach(() => {
  database = openDatabase(':memory:');
  shown = [];
  ports = openPorts();
});
afterEach(() => database.close());

/** The ports of `heartbeat`; what it logs and publishes is in `shown`. */
function openPorts() {
  const { logger, lines } = collectLog();
  shown.push(lines);
  return withUpdates({
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    deploymentKey: openSqliteDeploymentKey(database),
    bus: {
      async publish(topic: string, data: object) {
        shown.push({ topic, data });
        return 'id';
      },
    },
    timeouts: TIMEOUTS,
    logger,
  });
}

function placedJob(jobId: string, at = 0, shape: Parameters<typeof simulatedJob>[2] = PAIR): JobIn<'PREPARING'> {
  return jobAfter(simulatedJob(jobId, at, shape), ['PLACEMENT_CHOSEN', at]) as JobIn<'PREPARING'>;
}

/** The job, with its VMs confirmed by Compute Engine. */
function confirmed(job: Job): Job {
  const vmOf = (replica: ReplicaId) => ({ ...replica, vmName: vmNameOf(job.jobId, job.attempt, replica) });
  const instances = [MASTER, WORKER].map((replica) => ({ ...vmOf(replica), instanceId: replica.role }));
  return transition(job, { ...eventsFor(job, job.createdAt).VMS_CREATED, instances }).job;
}

type Sent = Partial<Pick<Heartbeat, 'attempt' | 'phase' | 'sequence' | 'exit'>> & {
  readonly vmName?: string;
  readonly serviceAccount?: string;
};

function send(jobId: string, replica: ReplicaId, { vmName, serviceAccount, ...facts }: Sent = {}) {
  const heartbeat: Heartbeat = {
    ...replica,
    ...{ protocol: 2, jobId, attempt: 1, sequence: 1, phase: 'INSTALLING', exit: null },
    usage: { ...NO_USAGE, gpus: [] },
    progress: { ...NO_PROGRESS, metrics: {} },
    ...facts,
  };
  const own = vmNameOf(jobId, heartbeat.attempt, replica);
  const identity = { vmName: vmName ?? own, zone: PLACEMENT.zone, instanceId: replica.role };
  return recordHeartbeat(ports, heartbeat, { ...identity, serviceAccount: serviceAccount ?? null, at: 90_000 });
}

const secretOf = async (...sent: Parameters<typeof send>) => (await send(...sent)).peerSecret;

describe('the secret of an attempt', () => {
  it('is one for all its replicas, before and after its VMs are confirmed, and after a restart of heartbeat', async () => {
    await ports.jobs.create(placedJob('waiting'), []);
    expect(await send('waiting', MASTER)).toMatchObject({ command: 'WAIT' });
    const secret = await secretOf('waiting', MASTER, { sequence: 2 });
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(await secretOf('waiting', WORKER)).toBe(secret);
    const stored = await ports.jobs.read('waiting');
    const change = { record: confirmed(placedJob('waiting')), eventId: 'created', effects: [] };
    await ports.jobs.commit({ ...change, expectedRevision: stored?.revision ?? 0 });
    ports = openPorts();
    const answer = await send('waiting', WORKER, { sequence: 2, phase: 'RUNNING' });
    expect(answer).toEqual({ command: 'CONTINUE', reason: null, peerSecret: secret });
  });

  it('is another one for another attempt, job or key, and for a job of the same id that was submitted later', async () => {
    const job = placedJob('first');
    const otherKey = { deploymentKey: openSqliteDeploymentKey(openDatabase(':memory:')) };
    const answers = await Promise.all([
      withPeerSecret(ports, job, { command: 'WAIT', reason: null }),
      withPeerSecret(ports, { ...job, attempt: 2 }, { command: 'WAIT', reason: null }),
      withPeerSecret(ports, { ...job, jobId: 'second' }, { command: 'WAIT', reason: null }),
      withPeerSecret(ports, { ...job, createdAt: 1 }, { command: 'WAIT', reason: null }),
      withPeerSecret(otherKey, job, { command: 'WAIT', reason: null }),
    ]);
    const secrets = answers.map(({ peerSecret }) => peerSecret);
    expect([secrets.includes(undefined), new Set(secrets).size]).toEqual([false, 5]);
  });

  it('is not given with STOP, which a VM may be told although it was of the current attempt when it asked', async () => {
    const stop = { command: 'STOP', reason: 'The job has ended.' } as const;
    expect(await withPeerSecret(ports, placedJob('first'), stop)).toEqual(stop);
  });

  it('is not given to a job with one replica, and no key is created for it', async () => {
    await ports.jobs.create(placedJob('alone', 0, {}), []);
    expect(await send('alone', MASTER)).not.toHaveProperty('peerSecret');
    expect(database.sql.prepare('select * from deployment_keys').all()).toEqual([]);
  });

  it.each<[string, ReplicaId, Sent]>([
    ['of another account', MASTER, { serviceAccount: 'other@p.iam.gserviceaccount.com' }],
    ['of another job', WORKER, { vmName: vmNameOf('second', 1, WORKER) }],
    ['that says it is another replica', MASTER, { vmName: vmNameOf('first', 1, WORKER) }],
    ['of an attempt that has ended', MASTER, { attempt: 1 }],
    ['of an attempt that has not begun', MASTER, { attempt: 3 }],
  ])('is not given to a VM %s', async (_, replica, sent) => {
    const again = jobAfter(placedJob('first'), ['ATTEMPT_INTERRUPTED', 5_000], ['PLACEMENT_CHOSEN', 6_000]);
    await ports.jobs.create(again, []);
    await ports.jobs.create(placedJob('second'), []);
    const answer = await send('first', replica, { attempt: 2, ...sent });
    expect([answer.command, answer.peerSecret]).toEqual(['STOP', undefined]);
  });
});

describe('the key of the deployment and the secrets of attempts', () => {
  /** Every row of every table but that of the key. */
  function readTables(): unknown {
    const tables = database.sql.prepare("select name from sqlite_schema where type = 'table'").all();
    const others = tables.map(({ name }) => String(name)).filter((name) => name !== 'deployment_keys');
    expect(others).toContain('replicas');
    return others.map((name) => database.sql.prepare(`select * from "${name}"`).all());
  }

  it('are in no line of the log, record, message, configuration of a VM, answer of the API or error', async () => {
    const job = placedJob('pair');
    await ports.jobs.create(confirmed(job), [{ type: 'PROVISION', jobId: 'pair', attempt: 1, placementRound: 1 }]);
    const phases: readonly Replica['phase'][] = ['INSTALLING', 'RUNNING', 'UPLOADING', 'EXITED'];
    const secrets = new Set<string | undefined>();
    const exit = { reason: 'EXITED', exitCode: 1, signal: null, message: 'It ended.', evidence: ['Error: x'] } as const;
    for (const [index, phase] of phases.entries()) {
      const facts = { phase, sequence: index + 1, exit: phase === 'EXITED' ? { ...exit, evidence: ['x'] } : null };
      for (const replica of [WORKER, MASTER]) {
        const { peerSecret, ...answer } = await send('pair', replica, facts);
        shown.push(answer);
        secrets.add(peerSecret);
      }
    }
    shown.push(await send('pair', MASTER, { vmName: 'df-other' }));
    await publishOutboxes(jobMachine(ports));
    const settings = { settings: simulatedSettings, timeouts: TIMEOUTS };
    shown.push(
      readTables(),
      [MASTER, WORKER].map((replica) => vmRequestOf(job, replica, settings)),
    );
    const api = await openApiUnderTest({ jobs: ports.jobs, replicas: ports.replicas });
    for (const path of ['/v1/jobs', '/v1/jobs/pair', '/v1/jobs/pair/history']) {
      const response = await api.request(path);
      expect(response.status).toBe(200);
      shown.push(await response.text());
    }
    await api.close();
    const failing = { ...ports.replicas, record: () => Promise.reject(new Error('The database is unavailable.')) };
    ports = { ...ports, replicas: failing };
    await ports.jobs.create(placedJob('other'), []);
    shown.push(String(await send('other', MASTER).catch((error: Error) => error.stack)));

    const key = Buffer.from(await ports.deploymentKey.read(), 'base64');
    secrets.delete(undefined);
    expect(secrets.size).toBe(1);
    const hidden = [...secrets, key.toString('hex'), key.toString('base64'), key.toString('base64url')];
    const text = JSON.stringify(shown);
    expect(text).toContain('The database is unavailable.');
    expect(hidden.filter((value) => text.includes(value ?? ''))).toEqual([]);
  });
});
