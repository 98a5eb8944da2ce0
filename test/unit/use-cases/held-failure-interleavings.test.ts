import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import { type Job, type ReplicaId, replicaName, replicasOf } from '#shared/domain/job.ts';
import { NO_PROGRESS, NO_USAGE } from '#shared/domain/replica.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';
import type { Heartbeat } from '#shared/protocol/heartbeat.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { handleInterruption } from '#shared/use-cases/reconcile/handle-interruption.ts';
import { reconcile } from '#shared/use-cases/reconcile/reconcile.ts';
import { simulatedJob } from '../../simulation/simulated-job.ts';
import { noLog } from '../../support/collected-log.ts';
import { eventsFor, jobAfter, PLACEMENT } from '../../support/domain/example-job.ts';
import { noUpdates } from '../../support/use-cases/updates.ts';

/** When the first program ends, or the VM is interrupted. */
const T = 1_000_000;
const HEARTBEAT_MS = 30_000;
/** The reconciler's schedule in production. */
const TICK_MS = 180_000;
const END_MS = T + 2 * TIMEOUTS.failureHoldMs;

const INTERRUPTIONS = ['NOTICE', 'NOTICE_AND_LOST', 'AUDIT_LOG', 'SILENCE', 'REBOOT'] as const;

/** One cluster in which one member is interrupted or fails, and what the others make of it. */
type Scenario = {
  readonly workers: number;
  /** Index of the member in question, and what happens to it. */
  readonly victim: number;
  readonly event: (typeof INTERRUPTIONS)[number] | 'FAILURE';
  /** How long the victim saves its outputs. */
  readonly savesMs: number;
  readonly tickAt: number;
  readonly members: readonly {
    /** Until it notices the loss and exits with 1; null if it does not depend on the victim. */
    readonly exitsAfterMs: number | null;
    readonly savesMs: number;
    readonly beatsAt: number;
    /** The delays of its heartbeats, in order; each at least two. */
    readonly delaysMs: readonly number[];
    readonly clockErrorMs: number;
  }[];
};

const members = fc.array(
  fc.record({
    exitsAfterMs: fc.option(fc.integer({ min: 1, max: 60_000 }), { freq: 4 }),
    savesMs: fc.constantFrom(0, 1_000, 90_000),
    beatsAt: fc.integer({ min: 0, max: HEARTBEAT_MS - 1 }),
    delaysMs: fc.array(fc.integer({ min: 5, max: 8_000 }), { minLength: 2, maxLength: 5 }),
    clockErrorMs: fc.constantFrom(0, 0, -3, 4, -3_600_000, 3_600_000),
  }),
  { minLength: 4, maxLength: 4 },
);

function scenarios(event: fc.Arbitrary<Scenario['event']>): fc.Arbitrary<Scenario> {
  return fc.record({
    workers: fc.integer({ min: 1, max: 3 }),
    victim: fc.integer({ min: 0, max: 3 }),
    event,
    savesMs: fc.constantFrom(0, 1_000, 60_000, 110_000),
    tickAt: fc.integer({ min: 0, max: TICK_MS - 1 }),
    members,
  });
}

/** A heartbeat without its address, and when it is sent. */
type Sent = { readonly at: number; readonly facts: Partial<Heartbeat> };

const exited = (message: string): ExitFacts => ({
  reason: 'EXITED',
  exitCode: 1,
  signal: null,
  message,
  evidence: [message],
});
const BUG = exited('ValueError: x12 must not be 10');
const LOST_CONNECTION = exited('RuntimeError: [gloo] Connection closed by peer [10.0.0.3]:33421');
const PREEMPTED: ExitFacts = { ...exited(''), reason: 'PREEMPTED', exitCode: 0, evidence: [] };

const notice = { isStopping: true, secondsLeft: 120, message: 'Compute Engine is preempting the VM.' };

type Period = { readonly beatsAt: number; readonly from?: number; readonly until: number };

function regularBeats({ beatsAt, from = T - 300_000, until }: Period, facts: Partial<Heartbeat> = {}): Sent[] {
  const first = from - (from % HEARTBEAT_MS) + HEARTBEAT_MS + beatsAt;
  const count = Math.max(0, Math.ceil((until - first) / HEARTBEAT_MS));
  return Array.from({ length: count }, (_, index) => ({ at: first + index * HEARTBEAT_MS, facts }));
}

/** The heartbeats of a program that exits with 1 at a time, saves its outputs and reports its exit. */
function failing(endsAt: number, report: ExitFacts, { savesMs, beatsAt, clockErrorMs }: Member): Sent[] {
  const endOf = (at: number) => ({ at: endsAt + clockErrorMs, secondsAgo: (at - endsAt) / 1_000 });
  const saving = [endsAt, ...regularBeats({ beatsAt, from: endsAt, until: endsAt + savesMs }).map(({ at }) => at)];
  return [
    ...regularBeats({ beatsAt, until: endsAt }),
    ...(savesMs === 0 ? [] : saving).map((at) => ({
      at,
      facts: { phase: 'UPLOADING' as const, programEnd: endOf(at), pendingExit: report },
    })),
    { at: endsAt + savesMs, facts: { phase: 'EXITED', programEnd: endOf(endsAt + savesMs), exit: report } },
  ];
}

type Member = Scenario['members'][number];

function interrupted(event: Scenario['event'], savesMs: number, { beatsAt }: Member): Sent[] {
  const before = regularBeats({ beatsAt, until: T });
  const saving: Sent[] = [
    { at: T, facts: { notice } },
    ...regularBeats({ beatsAt, from: T, until: T + savesMs }, { notice }),
  ];
  switch (event) {
    case 'NOTICE':
      return [...before, ...saving, { at: T + savesMs, facts: { phase: 'EXITED', notice, exit: PREEMPTED } }];
    case 'NOTICE_AND_LOST':
      return [...before, ...saving];
    case 'REBOOT':
      return [
        ...before,
        ...regularBeats({ beatsAt, from: T + 40_000, until: END_MS }).map(({ at }) => ({
          at,
          facts: { reboot: { count: 1, secondsAgo: (at - T - 40_000) / 1_000 } },
        })),
      ];
    default:
      return before;
  }
}

/** All programs of the cluster fail when they lose one. */
function makeDependent(scenario: Scenario): Scenario {
  return { ...scenario, members: scenario.members.map((each) => ({ ...each, exitsAfterMs: each.exitsAfterMs ?? 1 })) };
}

function heartbeatsOf({ victim, event, savesMs, members: drawn, workers }: Scenario, index: number): Sent[] {
  const member = drawn[index];
  if (member === undefined) {
    return [];
  }
  if (index === victim % (workers + 1)) {
    return event === 'FAILURE' ? failing(T, BUG, { ...member, savesMs }) : interrupted(event, savesMs, member);
  }
  return member.exitsAfterMs === null
    ? regularBeats({ beatsAt: member.beatsAt, until: END_MS })
    : failing(T + member.exitsAfterMs, LOST_CONNECTION, member);
}

/** Plays all messages in the order of their arrival. Returns the job when its first attempt has ended. */
async function play(scenario: Scenario): Promise<{ readonly job: Job; readonly at: number; readonly victim: string }> {
  const database = openDatabase(':memory:');
  const ports = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    bus: { publish: async () => 'id' },
    updates: noUpdates,
    timeouts: TIMEOUTS,
    deploymentKey: openSqliteDeploymentKey(database),
    logger: noLog,
  };
  const placed = jobAfter(simulatedJob('all', 0, { others: [{ role: 'worker', count: scenario.workers }] }), [
    'PLACEMENT_CHOSEN',
    0,
  ]);
  const ids = replicasOf(placed.spec);
  const vmOf = (id: ReplicaId) => ({ vmName: vmNameOf('all', 1, id), instanceId: replicaName(id) });
  const instances = ids.map((id) => ({ ...id, ...vmOf(id) }));
  await ports.jobs.create(
    jobAfter(transition(placed, { ...eventsFor(placed, 1).VMS_CREATED, instances }).job, ['REPLICA_STARTED', 2]),
    [],
  );
  const victim = replicaName(ids[scenario.victim % ids.length] ?? { role: 'master', index: 0 });

  async function deliver(id: ReplicaId, sequence: number, { at, facts }: Sent): Promise<void> {
    const heartbeat: Heartbeat = {
      ...id,
      protocol: 2,
      jobId: 'all',
      attempt: 1,
      sequence,
      phase: 'RUNNING',
      usage: { ...NO_USAGE, gpus: [] },
      progress: { ...NO_PROGRESS, metrics: {} },
      exit: null,
      ...facts,
    };
    await recordHeartbeat(ports, heartbeat, { ...vmOf(id), zone: PLACEMENT.zone, serviceAccount: null, at });
  }

  const messages = ids.flatMap((id, index) =>
    heartbeatsOf(scenario, index).map((sent, sequence) => {
      const delays = scenario.members[index]?.delaysMs ?? [];
      const arrivesAt = sent.at + (delays[sequence % delays.length] ?? 0);
      return { at: arrivesAt, run: () => deliver(id, sequence + 1, { ...sent, at: arrivesAt }) };
    }),
  );
  for (let at = T - TICK_MS + scenario.tickAt; at < END_MS; at += TICK_MS) {
    messages.push({ at, run: () => reconcile(ports, at) });
  }
  if (scenario.event === 'AUDIT_LOG') {
    const entry = { instanceId: victim, methodName: 'compute.instances.preempted' };
    messages.push({ at: T + 60_000, run: () => handleInterruption(ports, entry, T + 60_000) });
  }
  try {
    for (const { at, run } of messages.sort((a, b) => a.at - b.at)) {
      await run();
      const job = (await ports.jobs.read('all'))?.record;
      if (job !== undefined && (job.status !== 'RUNNING' || job.attempt > 1)) {
        return { job, at, victim };
      }
    }
    throw new Error('The attempt never ended.');
  } finally {
    database.close();
  }
}

it('an interruption never fails a cluster, whatever its other members do and whenever that is received', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios(fc.constantFrom(...INTERRUPTIONS)), async (scenario) => {
      const { job } = await play(makeDependent(scenario));
      expect(job).toMatchObject({ attempt: 2, status: 'QUEUED' });
    }),
    { numRuns: 150 },
  );
});

it('the failure of a program always fails its cluster in time, and is its cause', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios(fc.constant('FAILURE')), async (scenario) => {
      const { job, at, victim } = await play(scenario);
      expect(job).toMatchObject({
        attempt: 1,
        verdict: { state: 'FAILED', cause: { code: 'PROGRAM_FAILED', evidence: BUG.evidence } },
      });
      const message = job.status === 'CLOSING' ? job.verdict.cause?.message : '';
      expect(message).toMatch(new RegExp(`^Replica ${victim} failed first`));
      const longestSaveMs = Math.max(scenario.savesMs, ...scenario.members.map(({ savesMs }) => savesMs));
      expect(at - T).toBeLessThanOrEqual(60_000 + longestSaveMs + 2 * TIMEOUTS.heartbeatDelayMs + TICK_MS);
    }),
    { numRuns: 150 },
  );
});
