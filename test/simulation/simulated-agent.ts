import { NO_USAGE } from '#shared/domain/replica.ts';
import type { Heartbeat, HeartbeatAnswer } from '#shared/protocol/heartbeat.ts';
import type { Measurement } from '#shared/tuning/trial.ts';
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
  /** The VM has claimed the job directory. */
  readonly onClaimed: (vm: SimulatedVm) => void;
  readonly onFinished: (vm: SimulatedVm, exitCode: number) => void;
  /** All outputs of a program that has succeeded are saved. */
  readonly onSaved: (vm: SimulatedVm) => void;
  readonly onPreempted: (vm: SimulatedVm) => void;
  /** The value that the program reports at a step, if it is that of a trial. */
  readonly measure: (vm: SimulatedVm, step: number) => Measurement['values'] | null;
  /** Whether programs are connected: each fails when it loses another one. Then interruptions are of every kind. */
  readonly isConnected: boolean;
  /** Whether the program of this VM has lost its connection to another one. */
  readonly hasLostPeer: (vm: SimulatedVm) => boolean;
  /** The program of this VM has ended without success, or its VM is interrupted. */
  readonly onLost: (vm: SimulatedVm, isInterruption: boolean) => void;
  /** The control plane will consider this VM lost. */
  readonly onUnreachable: (vm: SimulatedVm) => void;
};

export const HEARTBEAT_MS = 30_000;
export const CONTROL_PLANE_TIMEOUT_MS = 600_000;

/** The agent's timeout for one heartbeat, and what the network adds. */
const REQUEST_MS_MAX = 20_000;

/** Heartbeats in which a VM with a preemption notice saves its outputs, unless it is ended before. */
const SAVING_BEATS_MAX = 3;

const SEQUENCES_PER_BOOT = 1_000_000;

/** A slow `pip install`, whose heartbeats continue for longer than the boot deadline. */
const SLOW_SETUP_CHANCE = 0.05;

const UNHEALTHY_ONE_IN = 12;

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
  let endedAt: number | null = null;
  let rebootedAt: number | null = null;
  let savingBeats: number | null = null;
  /** Until when the VM stays after its exit; null if it was not told to. */
  let keptUntil: number | null = null;
  const measurements: Measurement[] = [];

  function powerOff(): void {
    hasEnded = true;
    recordLoss();
    cloud.update(vm, { status: 'TERMINATED' });
  }

  /** The loss of a VM after its program has ended does not matter to the others. */
  function recordLoss(): void {
    if (endedAt === null) {
      world.onLost(vm, true);
    }
  }

  function isRunning(): boolean {
    return !hasEnded && cloud.alive().some(({ instanceId }) => instanceId === vm.instanceId);
  }

  function applyFaults(): boolean {
    if (prng.chance(faults.preempted)) {
      interrupt(world.isConnected ? prng.integer(3) : 0);
    } else if (prng.chance(faults.crashesWithoutReport)) {
      hasEnded = true;
      recordLoss();
      prng.chance(0.5) ? cloud.vanish(vm) : cloud.update(vm, { status: 'TERMINATED' });
    } else if (prng.chance(faults.heartbeatsStop)) {
      hasEnded = true;
      world.onUnreachable(vm);
    }
    return hasEnded;
  }

  /** Without notice, with one, or by a reboot of the same VM. */
  function interrupt(kind: number): void {
    recordLoss();
    if (kind === 0) {
      hasEnded = true;
      cloud.vanish(vm);
      world.onPreempted(vm);
    } else if (kind === 1 && endedAt === null) {
      savingBeats ??= 1 + prng.integer(SAVING_BEATS_MAX);
    } else {
      rebootedAt = scheduler.now();
      sequence = SEQUENCES_PER_BOOT * Math.ceil((sequence + 1) / SEQUENCES_PER_BOOT);
      setupBeats = endedAt === null ? 1 + prng.integer(2) : 0;
    }
  }

  function handleAnswer(answer: HeartbeatAnswer): void {
    lastAnswerAt = scheduler.now();
    mayStart ||= answer.command === 'CONTINUE';
    if (answer.isEarlyStop && exit === null) {
      end(STOPPED);
      return;
    }
    if (answer.keepSeconds !== undefined && exit !== null) {
      keptUntil = Math.min(keptUntil ?? Number.POSITIVE_INFINITY, scheduler.now() + answer.keepSeconds * 1_000);
    } else if (answer.command === 'STOP' && isRunning()) {
      powerOff();
    }
  }

  function end(report: ExitReport): 'EXITED' {
    exit ??= report;
    endedAt ??= scheduler.now();
    return 'EXITED';
  }

  /** The program has ended by itself. */
  function finish(exitCode: number): void {
    if (endedAt === null) {
      endedAt = scheduler.now();
      world.onFinished(vm, exitCode);
      if (exitCode !== 0) {
        world.onLost(vm, false);
      }
    }
  }

  /** The next step of the training. */
  function train(): 'RUNNING' {
    world.onRunning(vm);
    trainBeats -= world.isClusterUp(vm) ? 1 : 0;
    const step = measurements.length + 1;
    const values = world.measure(vm, step);
    if (values !== null) {
      measurements.push({ step, elapsedMs: step * HEARTBEAT_MS, values });
    }
    return 'RUNNING';
  }

  function nextPhase(): Heartbeat['phase'] {
    if (exit === STOPPED) {
      return 'EXITED';
    }
    if (exit === null && savingBeats !== null) {
      endedAt ??= scheduler.now();
      savingBeats -= 1;
      return savingBeats >= 0 ? 'UPLOADING' : end(PREEMPTED);
    }
    if (setupBeats > 0) {
      setupBeats -= 1;
      return 'INSTALLING';
    }
    if (!mayStart) {
      return 'WAITING';
    }
    const exitCode = world.exitCodeOf(vm);
    if (endedAt === null && world.hasLostPeer(vm)) {
      return end({ ...exited(1), evidence: ['RuntimeError: Connection closed by peer'] });
    }
    if (endedAt === null && (trainBeats > 0 || exitCode === null)) {
      return train();
    }
    if (endedAt === null && faults.crashesWithoutReport > 0 && isUnhealthy(vm)) {
      recordLoss();
      return end(UNHEALTHY);
    }
    finish(exitCode ?? 0);
    if (exit === null && uploadBeats > 0) {
      uploadBeats -= 1;
      return 'UPLOADING';
    }
    if (exit === null && exitCode === 0) {
      world.onSaved(vm);
    }
    return end(exited(exitCode));
  }

  /** Fields that only some heartbeats have. */
  function rareFields(phase: Heartbeat['phase']): Partial<Heartbeat> {
    const now = scheduler.now();
    const pendingExit = savingBeats === null ? exited(world.exitCodeOf(vm)) : PREEMPTED;
    return {
      ...(phase === 'UPLOADING' && { pendingExit }),
      // All of them, as an agent does none of whose heartbeats was answered.
      ...(measurements.length > 0 && { measurements }),
      ...(savingBeats !== null && {
        notice: { isStopping: true, secondsLeft: null, message: 'Compute Engine is preempting the VM.' },
      }),
      ...(endedAt !== null && { programEnd: { at: endedAt, secondsAgo: (now - endedAt) / 1_000 } }),
      ...(rebootedAt !== null && { reboot: { count: 1, secondsAgo: (now - rebootedAt) / 1_000 } }),
    };
  }

  function beat(): void {
    if (!isRunning() || applyFaults()) {
      return;
    }
    const isOver = keptUntil !== null && scheduler.now() >= keptUntil;
    if (isOver || scheduler.now() - lastAnswerAt > CONTROL_PLANE_TIMEOUT_MS) {
      powerOff();
      return;
    }
    sequence += 1;
    world.onClaimed(vm);
    const phase = nextPhase();
    const heartbeat = heartbeatOf(vm, { sequence, phase, exit, ...rareFields(phase) });
    for (let copy = prng.chance(faults.heartbeatTwice) ? 2 : 1; copy > 0; copy -= 1) {
      if (!prng.chance(faults.heartbeatLost)) {
        const timesOutAt = scheduler.now() + REQUEST_MS_MAX;
        scheduler.at(scheduler.now() + prng.integer(5_000), () => {
          if (!world.isConnected || scheduler.now() < timesOutAt) {
            world.send(vm, heartbeat, handleAnswer);
          }
        });
      }
    }
    scheduler.at(scheduler.now() + HEARTBEAT_MS, beat);
  }

  scheduler.at(scheduler.now() + prng.integer(HEARTBEAT_MS), beat);
}

type ExitReport = NonNullable<Heartbeat['exit']>;

/** Whether the program of this VM stalls instead of ending; a few do, by their names, so that nothing is drawn for it. */
function isUnhealthy({ vmName }: SimulatedVm): boolean {
  const sum = [...vmName].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % 65_521, 7);
  return sum % UNHEALTHY_ONE_IN === 0;
}

function exited(exitCode: number | null): ExitReport {
  return { reason: 'EXITED', exitCode, signal: null, message: 'The program exited.', evidence: [] };
}

const PREEMPTED: ExitReport = { ...exited(0), reason: 'PREEMPTED' };
const STOPPED: ExitReport = { ...exited(0), reason: 'STOPPED' };
const UNHEALTHY: ExitReport = {
  ...exited(null),
  reason: 'UNHEALTHY',
  health: { code: 'STALLED', action: 'restart', remedy: 'Read the stack.' },
};

function heartbeatOf(
  vm: SimulatedVm,
  said: Pick<Heartbeat, 'sequence' | 'phase' | 'exit'> & Partial<Heartbeat>,
): Heartbeat {
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
