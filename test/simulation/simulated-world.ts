import assert from 'node:assert/strict';
import { type Job, type ReplicaId, replicaName, replicasOf } from '#shared/domain/job.ts';
import { keepsVm, ownsVm } from '#shared/domain/ownership.ts';
import type { Study } from '#shared/domain/study.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import type { VmLimits } from '#shared/domain/vm-limits.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import { newTuning } from '#shared/tuning/new-tuning.ts';
import { recordHeartbeat } from '#shared/use-cases/heartbeat/record-heartbeat.ts';
import { cancelJob } from '#shared/use-cases/intake/cancel-job.ts';
import { handleInterruption } from '#shared/use-cases/reconcile/handle-interruption.ts';
import { releaseVm } from '#shared/use-cases/shell/release-vm.ts';
import { createPrng } from './prng.ts';
import { createScheduler, type SchedulerOptions } from './scheduler.ts';
import { CONTROL_PLANE_TIMEOUT_MS, HEARTBEAT_MS, runAgent } from './simulated-agent.ts';
import { createSimulatedCloud, type SimulatedLimit, type SimulatedVm } from './simulated-cloud.ts';
import { attemptOf, createControlPlane } from './simulated-control-plane.ts';
import { drawOthers, type Shape, simulatedJob } from './simulated-job.ts';
import { valuesAt } from './simulated-trial.ts';
import { drawFaults, type Mechanism } from './world-faults.ts';

/**
 * How long a program may run after its attempt: until its agent gets STOP or its control-plane timeout, plus a
 * heartbeat.
 */
const STOP_MS_MAX = CONTROL_PLANE_TIMEOUT_MS + 2 * HEARTBEAT_MS + 180_000;

export function memberOf(attempt: Pick<Job, 'jobId' | 'attempt'>, replica: ReplicaId): string {
  return `${attemptOf(attempt)}/${replicaName(replica)}`;
}

/**
 * Exit codes: in `broken` jobs the master fails, in `brittle` jobs the workers; parameter servers and evaluators never
 * exit.
 */
function exitCodeOf({ jobId, role }: SimulatedVm): number | null {
  if (role === 'ps' || role === 'evaluator') {
    return null;
  }
  return jobId === (role === 'master' ? 'broken' : 'brittle') ? 1 : 0;
}

export type WorldOptions = SchedulerOptions & {
  readonly limit?: SimulatedLimit;
  /** Whether the programs of a cluster fail when they lose the connection to another one. */
  readonly isConnected?: boolean;
  readonly hasTunings?: boolean;
  readonly vmLimits?: VmLimits;
};

/**
 * The production use cases on a virtual clock, over the embedded stores and a simulated Compute Engine, from one seed.
 */
export function createWorld(
  seed: number,
  without: readonly Mechanism[] = [],
  { limit, isConnected = false, hasTunings = false, vmLimits = {}, ...options }: WorldOptions = {},
) {
  const prng = createPrng(seed);
  const faults = drawFaults(prng);
  const scheduler = createScheduler(prng, faults, options);
  const { now } = scheduler;
  const cloud = createSimulatedCloud(prng, faults, { now, limit, isRunBounded: !without.includes('maxRunDuration') });
  const has = (mechanism: Mechanism) => !without.includes(mechanism);
  const started = new Set<string>();
  /** Attempts in which a VM was interrupted. */
  const interrupted = new Set<string>();
  const controlPlane = createControlPlane({
    prng,
    scheduler,
    cloud,
    faults,
    has,
    hasTunings,
    vmLimits,
    hasStarted: (job) =>
      interrupted.has(attemptOf(job)) || replicasOf(job.spec).every((replica) => started.has(memberOf(job, replica))),
  });
  const { jobs, replicas, tunings, curves, trials, successes, ports, endedAt, confirmed, close } = controlPlane;
  /** When the program of a replica exited, by attempt, replica and exit code. */
  const finished = new Map<string, number>();
  /** When the control plane first received the failure of a replica, by attempt. */
  const failureReportedAt = new Map<string, number>();
  let heartbeatsDownUntil = 0;
  /** Instance ids of VMs on which the program has run. */
  const used = new Set<string>();
  const running = new Set<string>();
  const clusters = new Map<string, readonly ReplicaId[]>();
  /** When the program of a member was lost, by member and zone. */
  const lostAt = new Map<string, number>();
  /** Steps that the master has trained, by attempt. */
  const stepsOf = new Map<string, number>();

  /** Without fencing, the heartbeat of any VM counts as one of the current attempt. */
  async function addressHeartbeat(vm: SimulatedVm, heartbeat: Heartbeat) {
    const job = (await jobs.read(vm.jobId))?.record;
    const { vmName: ownName, zone, instanceId: ownId } = vm;
    const sender = { vmName: ownName, zone, instanceId: ownId, serviceAccount: null, at: now() };
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

  function send(vm: SimulatedVm, original: Heartbeat, onAnswer: (answer: HeartbeatAnswer) => void): void {
    if (now() < heartbeatsDownUntil) {
      return;
    }
    scheduler.start(
      async () => {
        const { heartbeat, sender } = await addressHeartbeat(vm, original);
        const isFencedOff = has('fencing') && endedAt.has(attemptOf(vm));
        const answer = await recordHeartbeat(ports, heartbeat, sender);
        assert(
          !isFencedOff || answer.command === 'STOP',
          `${vm.vmName} was not stopped although its attempt has ended`,
        );
        if (original.exit !== null && original.exit.exitCode !== 0 && !failureReportedAt.has(attemptOf(vm))) {
          failureReportedAt.set(attemptOf(vm), now());
        }
        const isDelivered = has(answer.command === 'WAIT' ? 'gangScheduling' : 'agentsStopThemselves');
        onAnswer(isDelivered ? answer : { command: 'CONTINUE', reason: null });
      },
      () => undefined,
    );
  }

  /** Trials, which no world submits, are single replicas. */
  const clusterOf = ({ jobId }: SimulatedVm) => clusters.get(jobId) ?? [{ role: 'master', index: 0 }];
  const isAlone = (vm: SimulatedVm) => clusterOf(vm).length === 1;
  const agentWorld = {
    prng,
    scheduler,
    cloud,
    faults,
    send,
    exitCodeOf: (vm: SimulatedVm) => trials.programOf(vm.jobId)?.exitCode ?? exitCodeOf(vm),
    measure(vm: SimulatedVm, step: number) {
      const program = trials.programOf(vm.jobId);
      // After a reboot, the program begins again: what it reported before stays in the curve of the attempt.
      stepsOf.set(attemptOf(vm), Math.max(stepsOf.get(attemptOf(vm)) ?? 0, step));
      return program === undefined ? null : valuesAt(program, step);
    },
    isAlone,
    onRunning(vm: SimulatedVm) {
      started.add(memberOf(vm, vm));
      used.add(vm.instanceId);
      const endedForMs = now() - Math.max(vm.bornAt, endedAt.get(attemptOf(vm)) ?? now());
      const canBeStopped = has('agentsStopThemselves') && has('fencing');
      assert(
        !canBeStopped || isAlone(vm) || confirmed.has(vm.instanceId),
        `${vm.vmName} runs before its cluster exists`,
      );
      assert(!canBeStopped || endedForMs <= STOP_MS_MAX, `${vm.vmName} still runs ${endedForMs} ms after its attempt`);
    },
    isClusterUp: (vm: SimulatedVm) => clusterOf(vm).every((replica) => started.has(memberOf(vm, replica))),
    onClaimed: successes.onClaimed,
    onSaved: successes.onSaved,
    onFinished: (vm: SimulatedVm, exitCode: number) => void finished.set(`${memberOf(vm, vm)}/${exitCode}`, now()),
    isConnected,
    hasLostPeer(vm: SimulatedVm) {
      const peers = clusterOf(vm).filter(({ role, index }) => role !== vm.role || index !== vm.index);
      const isLost = (peer: ReplicaId) => (lostAt.get(`${memberOf(vm, peer)}/${vm.zone}`) ?? 0) > vm.bornAt;
      return isConnected && peers.some(isLost);
    },
    onLost(vm: SimulatedVm, isInterruption: boolean) {
      if (used.has(vm.instanceId)) {
        lostAt.set(`${memberOf(vm, vm)}/${vm.zone}`, now());
      }
      if (isInterruption) {
        interrupted.add(attemptOf(vm));
      }
    },
    onUnreachable: (vm: SimulatedVm) => void interrupted.add(attemptOf(vm)),
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

  /** Starts the agent on every VM that was created since the last step. */
  function bootVms(): void {
    for (const vm of cloud.alive().filter(({ instanceId }) => !running.has(instanceId))) {
      running.add(vm.instanceId);
      runAgent(agentWorld, vm);
    }
  }

  return {
    jobs,
    replicas,
    tunings,
    curves,
    trials,
    stepsOf,
    successOf: successes.successOf,
    cloud,
    isContested: controlPlane.isContested,
    finished,
    interrupted,
    failureReportedAt,
    faults,
    prng,
    now,
    async submit(jobId: string, shape: Shape = { others: drawOthers(prng) }): Promise<void> {
      const job = simulatedJob(jobId, now(), shape);
      clusters.set(jobId, replicasOf(job.spec));
      await jobs.create(job, [{ type: 'PROVISION', jobId, attempt: 1, placementRound: 1 }]);
    },
    async submitTuning(tuningId: string, study: Study): Promise<void> {
      const { spec, packages, zones, source, warnings } = simulatedJob(tuningId, now());
      const price = { resumes: [], perHourUsd: 0.19 };
      const accepted = { spec, study, packages, zones, source, warnings, ...price, now: now(), timeouts: TIMEOUTS };
      const { tuning, effects } = newTuning(accepted);
      await trials.check(tunings).create(tuning, effects);
    },
    cancelLater(jobId: string, delayMs: number): void {
      scheduler.at(now() + delayMs, () =>
        scheduler.start(
          async () => void (await cancelJob(ports, { jobId, by: null }, now())),
          () => this.cancelLater(jobId, 1_000),
        ),
      );
    },
    releaseLater(jobId: string, delayMs: number): void {
      scheduler.at(now() + delayMs, () =>
        scheduler.start(
          async () => void (await releaseVm(ports, { jobId, by: null }, now())),
          () => this.releaseLater(jobId, 1_000),
        ),
      );
    },
    async step(): Promise<void> {
      await scheduler.step();
      bootVms();
    },
    /** No heartbeat reaches the control plane for this long. */
    stopHeartbeats(forMs: number): void {
      heartbeatsDownUntil = now() + forMs;
    },
    stopFaults(): void {
      for (const fault of Object.keys(faults) as (keyof typeof faults)[]) {
        faults[fault] = 0;
      }
    },
    /** Billed minutes of each VM on which no program ever ran. */
    unusedVmMinutes(): readonly number[] {
      return [...cloud.billedMinutes()].flatMap(([instanceId, minutes]) => (used.has(instanceId) ? [] : [minutes]));
    },
    /** Billed VMs that no job owns. */
    async orphans(): Promise<readonly SimulatedVm[]> {
      const stored = new Map((await jobs.list({ countMax: 100 })).map((job) => [job.jobId, job]));
      return cloud.all().filter((vm) => {
        const job = stored.get(vm.jobId);
        return job === undefined || !(ownsVm(job, vm) || keepsVm(job, vm));
      });
    },
    async isBusy(): Promise<boolean> {
      // A record that is not closed has a deadline. Listing the records themselves took half of the simulation's time.
      const unfinished = [
        ...(await jobs.listDue(Number.MAX_SAFE_INTEGER, 1)),
        ...(await tunings.listDue(Number.MAX_SAFE_INTEGER, 1)),
      ];
      const outboxes = [...(await jobs.listWithOutbox(1)), ...(await tunings.listWithOutbox(1))];
      return unfinished.length > 0 || cloud.all().length > 0 || outboxes.length > 0;
    },
    close,
  };
}
