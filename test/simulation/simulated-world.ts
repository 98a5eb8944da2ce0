import assert from 'node:assert/strict';
import { openDatabase } from '#infra/embedded/database.ts';
import { openSqliteCapacityMemory } from '#infra/embedded/jobs/sqlite-capacity-memory.ts';
import { openSqliteJobStore } from '#infra/embedded/jobs/sqlite-job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/jobs/sqlite-replica-store.ts';
import { DEADLINES } from '#shared/domain/deadlines.ts';
import { type Job, type ReplicaId, replicaName, replicasOf } from '#shared/domain/job.ts';
import { ownsVm } from '#shared/domain/ownership.ts';
import { cancelJob } from '#shared/pipeline/cancel-job.ts';
import { noteInterruption } from '#shared/pipeline/note-interruption.ts';
import { type ProvisionMessage, provision } from '#shared/pipeline/provision.ts';
import { recordHeartbeat } from '#shared/pipeline/record-heartbeat.ts';
import { sweep, teardown } from '#shared/pipeline/teardown.ts';
import { endExpiredLeases, payOwingJobs, wakeDueJobs } from '#shared/pipeline/watch.ts';
import type { JobStore } from '#shared/ports/job-store.ts';
import type { MessageBus } from '#shared/ports/message-bus.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import { createPrng } from './prng.ts';
import { createScheduler } from './scheduler.ts';
import { DEAD_MAN_MS, HEARTBEAT_MS, runAgent } from './simulated-agent.ts';
import { createSimulatedCloud, type SimulatedVm } from './simulated-cloud.ts';
import { drawOthers, type Shape, simulatedJob, simulatedSettings, ZONES } from './simulated-job.ts';

/** The safety mechanisms, each of which the ablation test takes out in turn. */
export const MECHANISMS = [
  'wakeDueJobs',
  'payOwedEffects',
  'fencing',
  'sweep',
  'duplicateCheck',
  'leases',
  'firstWord',
  'agentsStopThemselves',
  'maxRunDuration',
  'teardown',
] as const;
export type Mechanism = (typeof MECHANISMS)[number];

const WATCH_EVERY_MS = 60_000;
const SWEEP_EVERY_MS = 300_000;
/** A failed delivery comes again after a backoff, and a program may have begun by then. */
const REDELIVERY_MS_MIN = 10_000;
const REDELIVERY_SPREAD_MS = 180_000;

/** How long a program may go on after its attempt: its agent hears STOP, or nothing for too long, or is a beat late. */
const OBEDIENCE_MS = DEAD_MAN_MS + 2 * HEARTBEAT_MS + 180_000;

/** Fault rates are drawn for each seed, so that some worlds are calm and some are terrible. */
function drawFaults(prng: ReturnType<typeof createPrng>) {
  const upTo = (most: number) => (prng.integer(1_001) / 1_000) * most;
  return {
    crash: upTo(0.05),
    messageLost: upTo(0.1),
    messageTwice: upTo(0.4),
    stockout: upTo(0.5),
    createThrows: upTo(0.2),
    createLate: upTo(0.4),
    deleteSlow: upTo(0.6),
    silentDeath: upTo(0.04),
    mute: upTo(0.02),
    preempted: upTo(0.04),
    heartbeatLost: upTo(0.2),
    heartbeatTwice: upTo(0.3),
  };
}

type InAttempt = { readonly jobId: string; readonly attempt: number };

function attemptOf({ jobId, attempt }: InAttempt): string {
  return `${jobId}/${attempt}`;
}

export function memberOf(attempt: InAttempt, replica: ReplicaId): string {
  return `${attemptOf(attempt)}/${replicaName(replica)}`;
}

/** What the programs end as: in `broken` jobs the master fails, in `brittle` ones the workers; servers never end. */
function exitCodeOf({ jobId, role }: SimulatedVm): number | null {
  if (role === 'ps' || role === 'evaluator') {
    return null;
  }
  return jobId === (role === 'master' ? 'broken' : 'brittle') ? 1 : 0;
}

/** All VMs of an attempt come up before its job runs, or none counts. */
function assertWhole(job: Job): void {
  const created = job.status === 'RUNNING' ? job.instances.length : replicasOf(job.spec).length;
  assert(created === replicasOf(job.spec).length, `${job.jobId} runs with ${created} VMs`);
}

/** The store as it was when a VM that has never spoken was nobody's business. */
function withoutFirstWord(replicas: ReplicaStore): ReplicaStore {
  return {
    ...replicas,
    record: (replica) => replicas.record(replica.sequence === 0 ? { ...replica, leaseExpiresAt: null } : replica),
  };
}

/** The production pipeline on a virtual clock, over the embedded stores and a simulated Compute Engine, from one seed. */
export function createWorld(seed: number, without: readonly Mechanism[] = []) {
  const prng = createPrng(seed);
  const faults = drawFaults(prng);
  const scheduler = createScheduler(prng, faults);
  const { now } = scheduler;
  const database = openDatabase(':memory:');
  const jobs = openSqliteJobStore(database);
  const replicas = openSqliteReplicaStore(database);
  const cloud = createSimulatedCloud(prng, faults, { now, isRunBounded: !without.includes('maxRunDuration') });
  /** When the program of a replica ended, by attempt, replica and exit code. */
  const finished = new Map<string, number>();
  /** When the control plane first had heard that a replica of an attempt had failed. */
  const failureHeard = new Map<string, number>();
  const begun = new Set<string>();
  const overSince = new Map<string, number>();
  const running = new Set<string>();
  const clusters = new Map<string, readonly ReplicaId[]>();
  const has = (mechanism: Mechanism) => !without.includes(mechanism);
  let commits = 0;

  function noteOver(job: Job): void {
    const isOver = job.status === 'CLOSING' || job.status === 'CLOSED';
    const last = attemptOf({ jobId: job.jobId, attempt: isOver ? job.attempt : job.attempt - 1 });
    overSince.set(last, overSince.get(last) ?? now());
  }

  const checkedJobs: JobStore = {
    ...jobs,
    async commit(change) {
      const { job } = change;
      commits += 1;
      const outcome = await jobs.commit(
        has('duplicateCheck') ? change : { ...change, eventId: `${change.eventId}#${commits}` },
      );
      if (outcome === 'COMMITTED') {
        noteOver(job);
        assertWhole(job);
      }
      const strangers = job.refusedZones.filter((zone) => !cloud.hasRefused(job.jobId, job.attempt, zone));
      assert(
        outcome !== 'COMMITTED' || strangers.length === 0,
        `${job.jobId}: ${strangers} never refused attempt ${job.attempt}`,
      );
      return outcome;
    },
  };

  const bus: MessageBus = {
    async publish(topic, data) {
      if (topic === 'provision' || topic === 'teardown') {
        for (let copy = prng.chance(faults.messageTwice) ? 2 : 1; copy > 0; copy -= 1) {
          if (!prng.chance(faults.messageLost)) {
            deliverLater(topic, data as ProvisionMessage, prng.integer(prng.chance(0.1) ? 120_000 : 5_000));
          }
        }
      }
      return 'id';
    },
  };

  const ports = {
    jobs: scheduler.interruptible(checkedJobs),
    replicas: scheduler.interruptible(has('firstWord') ? replicas : withoutFirstWord(replicas)),
    capacity: scheduler.interruptible(openSqliteCapacityMemory(database)),
    vms: scheduler.interruptible(cloud.provider),
    bus: scheduler.interruptible(bus),
    deadlines: DEADLINES,
  };

  function deliverLater(topic: 'provision' | 'teardown', message: ProvisionMessage, delayMs: number): void {
    scheduler.at(now() + delayMs, () =>
      scheduler.start(
        () =>
          topic === 'provision'
            ? provision(ports, message, { now: now(), settings: simulatedSettings })
            : has('teardown')
              ? teardown(ports, message.jobId, now())
              : Promise.resolve(),
        () => deliverLater(topic, message, REDELIVERY_MS_MIN + prng.integer(REDELIVERY_SPREAD_MS)),
      ),
    );
  }

  /** With fencing taken out, whatever a VM says counts as if the current attempt had said it. */
  async function forge(vm: SimulatedVm, heartbeat: Heartbeat) {
    const job = (await jobs.read(vm.jobId))?.job;
    const sender = { vmName: vm.vmName, zone: vm.zone, instanceId: vm.instanceId, at: now() };
    if (has('fencing') || (job?.status !== 'PREPARING' && job?.status !== 'RUNNING')) {
      return { heartbeat, sender };
    }
    const vmName = vm.vmName.replace(`-a${vm.attempt}-`, `-a${job.attempt}-`);
    const instanceId = job.instances.find((instance) => instance.vmName === vmName)?.instanceId ?? vm.instanceId;
    return {
      heartbeat: { ...heartbeat, attempt: job.attempt },
      sender: { ...sender, vmName, instanceId, zone: job.placement.zone },
    };
  }

  function send(vm: SimulatedVm, said: Heartbeat, onAnswer: (answer: HeartbeatAnswer) => void): void {
    scheduler.start(
      async () => {
        const { heartbeat, sender } = await forge(vm, said);
        const isFencedOff = has('fencing') && overSince.has(attemptOf(vm));
        const answer = await recordHeartbeat(ports, heartbeat, sender);
        assert(!isFencedOff || answer.command === 'STOP', `${vm.vmName} may go on although its attempt is over`);
        if (said.exit !== null && said.exit.exitCode !== 0 && !failureHeard.has(attemptOf(vm))) {
          failureHeard.set(attemptOf(vm), now());
        }
        if (has('agentsStopThemselves')) {
          onAnswer(answer);
        } else {
          onAnswer({ command: 'CONTINUE', reason: null });
        }
      },
      () => undefined,
    );
  }

  const agentWorld = {
    prng,
    scheduler,
    cloud,
    faults,
    send,
    exitCodeOf,
    onRunning(vm: SimulatedVm) {
      begun.add(memberOf(vm, vm));
      const overForMs = now() - Math.max(vm.bornAt, overSince.get(attemptOf(vm)) ?? now());
      const isObedient = has('agentsStopThemselves') && has('fencing');
      assert(!isObedient || overForMs <= OBEDIENCE_MS, `${vm.vmName} still runs ${overForMs} ms after its attempt`);
    },
    isClusterUp: (vm: SimulatedVm) =>
      (clusters.get(vm.jobId) ?? []).every((replica) => begun.has(memberOf(vm, replica))),
    onFinished: (vm: SimulatedVm, exitCode: number) => void finished.set(`${memberOf(vm, vm)}/${exitCode}`, now()),
    onPreempted(vm: SimulatedVm) {
      if (!prng.chance(faults.messageLost)) {
        const interruption = { instanceId: vm.instanceId, methodName: 'compute.instances.preempted' };
        scheduler.at(now() + prng.integer(30_000), () =>
          scheduler.start(
            () => noteInterruption(ports, interruption, now()),
            () => undefined,
          ),
        );
      }
    },
  };

  function every(periodMs: number, work: () => Promise<void>): void {
    scheduler.at(now() + periodMs, () => {
      scheduler.start(work, () => undefined);
      every(periodMs, work);
    });
  }

  /** VMs that came to life since the last step begin to run their agent. */
  function bootVms(): void {
    for (const vm of cloud.alive().filter(({ instanceId }) => !running.has(instanceId))) {
      running.add(vm.instanceId);
      runAgent(agentWorld, vm);
    }
  }

  every(WATCH_EVERY_MS, async () => {
    await (has('payOwedEffects') ? payOwingJobs(ports) : undefined);
    await (has('leases') ? endExpiredLeases(ports, now()) : undefined);
    await (has('wakeDueJobs') ? wakeDueJobs(ports, now()) : undefined);
  });
  every(SWEEP_EVERY_MS, async () => (has('sweep') ? sweep(ports, now()) : undefined));

  return {
    jobs,
    replicas,
    cloud,
    finished,
    failureHeard,
    faults,
    prng,
    now,
    async submit(jobId: string, shape: Shape = { others: drawOthers(prng) }): Promise<void> {
      const job = simulatedJob(jobId, now(), shape);
      clusters.set(jobId, replicasOf(job.spec));
      await jobs.create(job, [{ type: 'PROVISION', jobId, attempt: 1, placementTry: 1 }]);
    },
    cancelLater(jobId: string, delayMs: number): void {
      scheduler.at(now() + delayMs, () =>
        scheduler.start(
          async () => void (await cancelJob(ports, jobId, now())),
          () => this.cancelLater(jobId, 1_000),
        ),
      );
    },
    async step(): Promise<void> {
      await scheduler.step();
      bootVms();
    },
    stopFaults(): void {
      for (const fault of Object.keys(faults) as (keyof typeof faults)[]) {
        faults[fault] = 0;
      }
    },
    /** VMs that bill and that no job owns. */
    async orphans(): Promise<readonly SimulatedVm[]> {
      const stored = new Map((await jobs.list({ countMax: 100 })).map((job) => [job.jobId, job]));
      return cloud.all().filter((vm) => {
        const job = stored.get(vm.jobId);
        return job === undefined || !ownsVm(job, vm);
      });
    },
    async isBusy(): Promise<boolean> {
      const all = await jobs.list({ countMax: 100 });
      const isUnfinished = all.some(({ status }) => status !== 'CLOSED');
      return isUnfinished || cloud.all().length > 0 || (await jobs.listOwing(1)).length > 0;
    },
    close: () => database.close(),
  };
}

export { ZONES };
