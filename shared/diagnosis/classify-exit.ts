import { type Conclusion, diagnose } from '#shared/diagnosis/diagnose.ts';
import type { JobFacts } from '#shared/diagnosis/job-facts.ts';
import { CAUSES, type Cause, type CauseCode, causeOf } from '#shared/domain/cause.ts';
import type { ExitFacts } from '#shared/domain/exit-report.ts';
import { classifyUnhealthy } from '#shared/domain/health-cause.ts';
import { clip } from '#shared/domain/job-size.ts';
import { describeDenial, findPerimeterDenial } from '#shared/domain/perimeter-denial.ts';
import type { ReplicaExit } from '#shared/domain/replica.ts';

type OtherReason = Exclude<ExitFacts['reason'], 'UNHEALTHY'>;

/** The causes of the reasons that have another name than their cause. */
const CODE_OF: Readonly<Record<Exclude<OtherReason, CauseCode | 'EXITED'>, CauseCode>> = {
  // The control plane stops replicas that are closed or fenced off, and those of a job that is stopped early, which may
  // exit in any way. Any other stop came from the machine.
  STOPPED: 'VM_TERMINATED',
  MAX_RUNNING_TIME: 'MAX_RUNNING_TIME_EXCEEDED',
  AGENT_FAILED: 'INTERNAL_ERROR',
};

/** Success, or the cause and its diagnosis, from which the retry policy follows. */
export function classifyExit(exit: ExitFacts, facts: JobFacts): ReplicaExit {
  if (exit.reason === 'EXITED' && exit.exitCode === 0) {
    return exit.savedNothing === undefined ? { outcome: 'SUCCEEDED' } : { outcome: 'SUCCEEDED', savedNothing: true };
  }
  if (exit.reason === 'UNHEALTHY') {
    return { outcome: 'FAILED', cause: classifyUnhealthy(exit) };
  }
  const denied = perimeterCauseOf(exit);
  if (denied !== undefined) {
    return { outcome: 'FAILED', cause: denied };
  }
  const conclusion = diagnose(exit, facts);
  const cause = causeOf(codeOf(exit, exit.reason, conclusion), messageOf(exit, facts.jobId, conclusion), exit.evidence);
  return { outcome: 'FAILED', cause: withDiagnosis({ ...cause, unreachableHost: exit.unreachableHost }, conclusion) };
}

/** Requests of the agent itself. What a program prints decides nothing here; it has a diagnosis. */
const OWN_REQUESTS: readonly ExitFacts['reason'][] = [
  'PACKAGE_UNREADABLE',
  'IMAGE_PULL_FAILED',
  'JOB_DIR_UNWRITABLE',
  'CHECKPOINT_UNREADABLE',
  'SERVICE_UNREACHABLE',
  'SECRET_UNAVAILABLE',
  // The agent itself could not be read.
  'AGENT_FAILED',
];

function perimeterCauseOf({ reason, message, evidence }: ExitFacts): Cause | undefined {
  const denial = OWN_REQUESTS.includes(reason) ? findPerimeterDenial([message, ...evidence].join('\n')) : null;
  return denial === null
    ? undefined
    : causeOf('PERIMETER_DENIED', `${describeDenial('a request of the VM', denial)} ${message}`, evidence);
}

/** The code of an agent's own reason stays. A GPU that failed is the cause of a signal, too. */
function codeOf({ signal }: ExitFacts, reason: OtherReason, conclusion: Conclusion | undefined): CauseCode {
  if (reason !== 'EXITED') {
    return isCauseCode(reason) ? reason : CODE_OF[reason];
  }
  if (signal !== null && conclusion?.code !== 'GPU_FAILED') {
    return 'PROGRAM_KILLED';
  }
  return conclusion?.code ?? 'PROGRAM_FAILED';
}

function isCauseCode(name: string): name is CauseCode {
  return Object.hasOwn(CAUSES, name);
}

function messageOf(exit: ExitFacts, jobId: string, conclusion: Conclusion | undefined): string {
  const { reason, exitCode, signal, message } = exit;
  const explained = [conclusion?.explanation ?? '', message].filter((sentence) => sentence !== '').join(' ');
  if ((reason === 'EXITED' && signal === null) || (exitCode === null && signal === null)) {
    // The agent's message states the exit code.
    return explained;
  }
  const status = signal === null ? exitCode : `${exitCode ?? 128 + signal} (signal ${signal})`;
  return `${explained} The program of job ${jobId} exited with status ${status}.`;
}

/** Causes of which the remedy already names what to do in Dropforge. */
const OWN_REMEDIES: readonly CauseCode[] = [
  'PREEMPTED',
  'MAX_RUNNING_TIME_EXCEEDED',
  'SERVICE_UNREACHABLE',
  'GPU_MISSING',
];

const REMEDY_BYTES_MAX = 2 << 10;
const LINE_BYTES_MAX = 1 << 10;

/** A cause of class `interruption` needs no advice: its own remedy says that nothing is to be done. */
function withDiagnosis(cause: Cause, conclusion: Conclusion | undefined): Cause {
  if (conclusion === undefined || OWN_REMEDIES.includes(cause.code)) {
    return cause;
  }
  const { label, remedy, canRetryHelp, line } = conclusion.diagnosis;
  const clipped = { label, remedy: clip(remedy, REMEDY_BYTES_MAX), canRetryHelp };
  return { ...cause, diagnosis: line === undefined ? clipped : { ...clipped, line: clip(line, LINE_BYTES_MAX) } };
}
