import assert from 'node:assert/strict';
import { type Job, type ReplicaId, replicaName, replicasOf } from '#shared/domain/job.ts';
import { ownsVm } from '#shared/domain/ownership.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { cancelJob } from '#shared/use-cases/intake/cancel-job.ts';
import { handleInterruption } from '#shared/use-cases/reconcile/handle-interruption.ts';
import { createPrng } from './prng.ts';
import { createScheduler, type SchedulerOptions } from './scheduler.ts';
import { DEAD_MAN_MS, HEARTBEAT_MS, runAgent } from './simulated-agent.ts';
import { createSimulatedCloud, type SimulatedVm } from './simulated-cloud.ts';
import { attemptOf, createControlPlane } from './simulated-control-plane.ts';
import { drawOthers, type Shape, simulatedJob } from './simulated-job.ts';
import { drawFaults, type Mechanism } from './world-faults.ts';

/** How long a program may go on after its attempt: its agent hears STOP, or nothing for too long, or is a beat late. */
const OBEDIENCE_MS = DEAD_MAN_MS + 2 * HEARTBEAT_MS + 180_000;

export function memberOf(attempt: Pick<Job, 'jobId' | 'attempt'>, replica: ReplicaId): string {
  return `${attemptOf(attempt)}/${replicaName(replica)}`;
}

/** What the programs end as: in `broken` jobs the master fails, in `brittle` ones the workers; servers never end. */
function exitCodeOf({ jobId, role }: SimulatedVm): number | null {
  if (role === 'ps' || role === 'evaluator') {
    return null;
  }
  return jobId === (role === 'master' ? 'broken' : 'brittle') ? 1 : 0;
}

/**
 * The production pipeline on a virtual clock, over the embedded stores and a simulated Compute Engine, from one seed.
 */
export function createWorld(seed: number, without: readonly Mechanism[] = [], options: SchedulerOptions = {}) {
  const prng = createPrng(seed);
  const faults = drawFaults(prng);
  const scheduler = createScheduler(prng, faults, options);
  const { now } = scheduler;
  const cloud = createSimulatedCloud(prng, faults, { now, isRunBounded: !without.includes('maxRunDuration') });
  const has = (mechanism: Mechanism) => !without.includes(mechanism);
  const { jobs, replicas, ports, overSince, known, close } = createControlPlane({
    prng,
    scheduler,
    cloud,
    faults,
    has,
  });
  /** When the program of a replica ended, by attempt, replica and exit code. */
  const finished = new Map<string, number>();
  /** When the control plane first had heard that a replica of an attempt had failed. */
  const failureHeard = new Map<string, number>();
  let heartbeatsShutUntil = 0;
  const begun = new Set<string>();
  const running = new Set<string>();
  const clusters = new Map<string, readonly ReplicaId[]>();

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
    if (now() < heartbeatsShutUntil) {
      return;
    }
    scheduler.start(
      async () => {
        const { heartbeat, sender } = await forge(vm, said);
        const isFencedOff = has('fencing') && overSince.has(attemptOf(vm));
        const answer = await recordHeartbeat(ports, heartbeat, sender);
        assert(!isFencedOff || answer.command === 'STOP', `${vm.vmName} may go on although its attempt is over`);
        if (said.exit !== null && said.exit.exitCode !== 0 && !failureHeard.has(attemptOf(vm))) {
          failureHeard.set(attemptOf(vm), now());
        }
        const isHeeded = has(answer.command === 'WAIT' ? 'wholeClusters' : 'agentsStopThemselves');
        onAnswer(isHeeded ? answer : { command: 'CONTINUE', reason: null });
      },
      () => undefined,
    );
  }

  const isAlone = ({ jobId }: SimulatedVm) => clusters.get(jobId)?.length === 1;
  const agentWorld = {
    prng,
    scheduler,
    cloud,
    faults,
    send,
    exitCodeOf,
    isAlone,
    onRunning(vm: SimulatedVm) {
      begun.add(memberOf(vm, vm));
      const overForMs = now() - Math.max(vm.bornAt, overSince.get(attemptOf(vm)) ?? now());
      const isObedient = has('agentsStopThemselves') && has('fencing');
      assert(!isObedient || isAlone(vm) || known.has(vm.instanceId), `${vm.vmName} runs before its cluster is there`);
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
            () => handleInterruption(ports, interruption, now()),
            () => undefined,
          ),
        );
      }
    },
  };

  /** VMs that came to life since the last step begin to run their agent. */
  function bootVms(): void {
    for (const vm of cloud.alive().filter(({ instanceId }) => !running.has(instanceId))) {
      running.add(vm.instanceId);
      runAgent(agentWorld, vm);
    }
  }

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
      await jobs.create(job, [{ type: 'PROVISION', jobId, attempt: 1, placementRound: 1 }]);
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
    /** Every heartbeat of the time to come is refused. */
    shutHeartbeats(forMs: number): void {
      heartbeatsShutUntil = now() + forMs;
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
      return isUnfinished || cloud.all().length > 0 || (await jobs.listJobsWithOutbox(1)).length > 0;
    },
    close,
  };
}
