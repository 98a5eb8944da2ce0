import { NO_USAGE } from '#shared/domain/replica.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import type { Prng } from './prng.ts';
import type { Scheduler } from './scheduler.ts';
import type { SimulatedCloud, SimulatedVm } from './simulated-cloud.ts';

export type AgentFaults = {
  /** Chances per heartbeat. */
  crashesWithoutReport: number;
  /** The VM exists and is billed, but its agent sends nothing and ignores all commands. */
  heartbeatsStop: number;
  preempted: number;
  heartbeatLost: number;
  heartbeatTwice: number;
};

export type AgentWorld = {
  readonly prng: Prng;
  readonly scheduler: Scheduler;
  readonly cloud: SimulatedCloud;
  readonly faults: AgentFaults;
  /** Null for a program that never exits by itself. */
  readonly exitCodeOf: (vm: SimulatedVm) => number | null;
  readonly isAlone: (vm: SimulatedVm) => boolean;
  /** The program of this VM is running at this heartbeat. */
  readonly onRunning: (vm: SimulatedVm) => void;
  /** Whether the program can reach all replicas that it waits for. */
  readonly isClusterUp: (vm: SimulatedVm) => boolean;
  readonly send: (vm: SimulatedVm, heartbeat: Heartbeat, onAnswer: (answer: HeartbeatAnswer) => void) => void;
  readonly onFinished: (vm: SimulatedVm, exitCode: number) => void;
  readonly onPreempted: (vm: SimulatedVm) => void;
};

export const HEARTBEAT_MS = 30_000;
export const CONTROL_PLANE_TIMEOUT_MS = 600_000;

/** A slow `pip install`, whose heartbeats continue for longer than the boot deadline. */
const SLOW_SETUP_CHANCE = 0.05;

/**
 * The agent of one VM: boots, waits until all VMs of its cluster are confirmed, trains once their programs run,
 * uploads, exits. It stops the VM on STOP, or if the control plane does not answer for too long.
 */
export function runAgent(world: AgentWorld, vm: SimulatedVm): void {
  const { prng, scheduler, cloud, faults } = world;
  let setupBeats = 1 + prng.integer(prng.chance(SLOW_SETUP_CHANCE) ? 80 : 4);
  let trainBeats = 1 + prng.integer(12);
  let uploadBeats = prng.integer(3);
  let sequence = 0;
  let lastAnswerAt = scheduler.now();
  let hasEnded = false;
  let mayStart = world.isAlone(vm);
  let exit: Heartbeat['exit'] = null;

  function powerOff(): void {
    hasEnded = true;
    cloud.update(vm, { status: 'TERMINATED' });
  }

  function isRunning(): boolean {
    return !hasEnded && cloud.alive().some(({ instanceId }) => instanceId === vm.instanceId);
  }

  function applyFaults(): boolean {
    if (prng.chance(faults.preempted)) {
      hasEnded = true;
      cloud.vanish(vm);
      world.onPreempted(vm);
    } else if (prng.chance(faults.crashesWithoutReport)) {
      hasEnded = true;
      prng.chance(0.5) ? cloud.vanish(vm) : cloud.update(vm, { status: 'TERMINATED' });
    } else if (prng.chance(faults.heartbeatsStop)) {
      hasEnded = true;
    }
    return hasEnded;
  }

  function handleAnswer(answer: HeartbeatAnswer): void {
    lastAnswerAt = scheduler.now();
    mayStart ||= answer.command === 'CONTINUE';
    if (answer.command === 'STOP' && isRunning()) {
      powerOff();
    }
  }

  function nextPhase(): Heartbeat['phase'] {
    if (setupBeats > 0) {
      setupBeats -= 1;
      return 'INSTALLING';
    }
    if (!mayStart) {
      return 'WAITING';
    }
    const exitCode = world.exitCodeOf(vm);
    if (trainBeats > 0 || exitCode === null) {
      world.onRunning(vm);
      trainBeats -= world.isClusterUp(vm) ? 1 : 0;
      return 'RUNNING';
    }
    if (exit === null && uploadBeats > 0) {
      uploadBeats -= 1;
      return 'UPLOADING';
    }
    if (exit === null) {
      world.onFinished(vm, exitCode);
      exit = { reason: 'EXITED', exitCode, signal: null, message: 'The program exited.', evidence: [] };
    }
    return 'EXITED';
  }

  function beat(): void {
    if (!isRunning() || applyFaults()) {
      return;
    }
    if (scheduler.now() - lastAnswerAt > CONTROL_PLANE_TIMEOUT_MS) {
      powerOff();
      return;
    }
    sequence += 1;
    const phase = nextPhase();
    const heartbeat = heartbeatOf(vm, { sequence, phase, exit });
    for (let copy = prng.chance(faults.heartbeatTwice) ? 2 : 1; copy > 0; copy -= 1) {
      if (!prng.chance(faults.heartbeatLost)) {
        scheduler.at(scheduler.now() + prng.integer(5_000), () => world.send(vm, heartbeat, handleAnswer));
      }
    }
    scheduler.at(scheduler.now() + HEARTBEAT_MS, beat);
  }

  scheduler.at(scheduler.now() + prng.integer(HEARTBEAT_MS), beat);
}

function heartbeatOf(vm: SimulatedVm, said: Pick<Heartbeat, 'sequence' | 'phase' | 'exit'>): Heartbeat {
  return {
    protocol: 2,
    jobId: vm.jobId,
    attempt: vm.attempt,
    role: vm.role,
    index: vm.index,
    usage: { ...NO_USAGE, gpus: [] },
    progress: { step: null, stepsMax: null, metrics: {} },
    ...said,
  };
}
