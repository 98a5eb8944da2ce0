import { type Cause, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { ReplicaExit } from '#shared/domain/event.ts';
import type { DecisiveFinding } from '#shared/domain/health.ts';
import { classifyUnhealthy } from '#shared/domain/health-cause.ts';
import { classifyProgramFailure } from '#shared/domain/program-failure.ts';

/** Why a replica ended, as its agent reports it. The control plane decides what follows. */
export const EXIT_REASONS = [
  /** The program exited by itself: see exitCode or signal. */
  'EXITED',
  /** The program was stopped because Compute Engine announced preemption or host maintenance. */
  'PREEMPTED',
  /** The agent stopped the program: a heartbeat returned STOP, or the VM was shut down. */
  'STOPPED',
  'MAX_RUNNING_TIME',
  'OUT_OF_MEMORY',
  'DISK_FULL',
  'PACKAGE_UNREADABLE',
  'INSTALL_FAILED',
  'JOB_DIR_UNWRITABLE',
  /** A file that an earlier attempt saved cannot be read, or differs from what was saved. */
  'CHECKPOINT_UNREADABLE',
  /** The files that earlier attempts saved do not fit on the VM's disk. */
  'DISK_TOO_SMALL',
  /** Cloud Storage or Secret Manager returned no response, or only transient errors, for minutes during setup. */
  'SERVICE_UNREACHABLE',
  'SECRET_UNAVAILABLE',
  /** The VM has fewer GPUs than its job requested. */
  'GPU_MISSING',
  /** The agent stopped the program for a finding about its health: see `health`. */
  'UNHEALTHY',
  /** An error in the agent itself. */
  'AGENT_FAILED',
] as const;

/** How a replica ended, as its agent reports it; same shape as the heartbeat schema. */
export type ExitFacts = {
  readonly reason: (typeof EXIT_REASONS)[number];
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly message: string;
  readonly evidence: readonly string[];
  readonly savedNothing?: true | undefined;
  /** With the reason UNHEALTHY. */
  readonly health?: DecisiveFinding | undefined;
};

const CODE_OF: Readonly<Record<Exclude<ExitFacts['reason'], 'EXITED' | 'UNHEALTHY'>, CauseCode>> = {
  PREEMPTED: 'PREEMPTED',
  // The control plane stops replicas that are closed or fenced off, and those of a job that is stopped early, which may
  // exit in any way. Any other stop came from the machine.
  STOPPED: 'VM_TERMINATED',
  MAX_RUNNING_TIME: 'MAX_RUNNING_TIME_EXCEEDED',
  OUT_OF_MEMORY: 'OUT_OF_MEMORY',
  DISK_FULL: 'DISK_FULL',
  PACKAGE_UNREADABLE: 'PACKAGE_UNREADABLE',
  INSTALL_FAILED: 'INSTALL_FAILED',
  JOB_DIR_UNWRITABLE: 'JOB_DIR_UNWRITABLE',
  CHECKPOINT_UNREADABLE: 'CHECKPOINT_UNREADABLE',
  DISK_TOO_SMALL: 'DISK_TOO_SMALL',
  SERVICE_UNREACHABLE: 'SERVICE_UNREACHABLE',
  SECRET_UNAVAILABLE: 'SECRET_UNAVAILABLE',
  GPU_MISSING: 'GPU_MISSING',
  AGENT_FAILED: 'INTERNAL_ERROR',
};

/** Success, or the cause from which the retry policy follows. */
export function classifyExit(facts: ExitFacts, jobId: string): ReplicaExit {
  if (facts.reason === 'EXITED' && facts.exitCode === 0) {
    return facts.savedNothing === undefined ? { outcome: 'SUCCEEDED' } : { outcome: 'SUCCEEDED', savedNothing: true };
  }
  if (facts.reason === 'UNHEALTHY') {
    return { outcome: 'FAILED', cause: classifyUnhealthy(facts) };
  }
  if (facts.reason !== 'EXITED') {
    return { outcome: 'FAILED', cause: describe(CODE_OF[facts.reason], facts, jobId) };
  }
  if (facts.signal !== null) {
    return { outcome: 'FAILED', cause: describe('PROGRAM_KILLED', facts, jobId) };
  }
  const { code, explanation } = classifyProgramFailure(facts.evidence);
  const message = explanation === null ? facts.message : `${explanation} ${facts.message}`;
  // The agent's message states the exit code.
  return { outcome: 'FAILED', cause: causeOf(code, message, facts.evidence) };
}

function describe(code: CauseCode, { exitCode, signal, message, evidence }: ExitFacts, jobId: string): Cause {
  const status = signal === null ? exitCode : `${exitCode ?? 128 + signal} (signal ${signal})`;
  const isProgram = exitCode !== null || signal !== null;
  return causeOf(
    code,
    isProgram ? `${message} The program of job ${jobId} exited with status ${status}.` : message,
    evidence,
  );
}
