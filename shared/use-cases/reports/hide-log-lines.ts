import { LABELS, type LabelFacts } from '#shared/diagnosis/rules/labels.ts';
import { type Cause, type CauseCode, remedyOf } from '#shared/domain/cause.ts';
import type { ReplicaExit } from '#shared/domain/event.ts';
import type { HealthFinding } from '#shared/domain/health.ts';
import type { Job } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { TrialOutcome } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';

/**
 * Causes whose message is written from what Compute Engine, a limit or a user did. Every other message can repeat what
 * the agent reported, which can be a line of the log.
 */
export const CAUSES_WITHOUT_LOG: readonly CauseCode[] = [
  'STOCKOUT',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'CAPACITY_PENDING',
  'CONFIGURATION_REFUSED',
  'MAX_WAIT_TIME_EXCEEDED',
  'UNUSED_VM_LIMIT_EXCEEDED',
  'VM_BOOT_TIMED_OUT',
  'BOOT_FAILED_REPEATEDLY',
  'HEARTBEAT_LOST',
  'TRIAL_STOPPED',
  'TRIAL_CANCELLED',
  'CANCELLED_BY_USER',
];

const HIDDEN = 'What the program printed is shown to the submitter of the job and to operators.';

/**
 * The record for viewers to whom the job's log is denied, without any text of its log. Codes, labels and their general
 * remedies stay. Every view is made from it, so that a field which is added to a view later shows no line either.
 */
export function hideLogLines<Record extends Job | Tuning>(submitted: Record): Record {
  const ended = 'verdict' in submitted ? { verdict: hideIn(submitted.verdict) } : {};
  return 'tuningId' in submitted
    ? { ...submitted, ...ended, failures: submitted.failures.map(hideIn) }
    : {
        ...submitted,
        ...ended,
        ledger: submitted.ledger.map(hideIn),
        waitingFor: submitted.waitingFor && hideCause(submitted.waitingFor),
      };
}

/** As `hideLogLines`, for a replica of the job. */
export function hideLogLinesOfReplica(replica: Replica): Replica {
  const { exit, pendingExit, health } = replica;
  return {
    ...replica,
    health: health.map(hideFinding),
    exit: exit && hideExit(exit),
    pendingExit: pendingExit && hideExit(pendingExit),
  };
}

/** As `hideLogLines`, for a trial of the tuning. */
export function hideLogLinesOfOutcome(outcome: TrialOutcome | null): TrialOutcome | null {
  switch (outcome?.kind) {
    case 'FAILED':
    case 'LOST':
      return { ...outcome, cause: hideCause(outcome.cause) };
    case 'INFEASIBLE':
      return { ...outcome, message: `The trial has no result: ${outcome.reason}. ${HIDDEN}` };
    default:
      return outcome;
  }
}

function hideIn<Record extends { readonly cause: Cause | null }>(record: Record): Record {
  return { ...record, cause: record.cause && hideCause(record.cause) };
}

function hideExit(exit: ReplicaExit): ReplicaExit {
  return exit.outcome === 'FAILED' ? { ...exit, cause: hideCause(exit.cause) } : exit;
}

function hideCause(cause: Cause): Cause {
  const { code, message, diagnosis } = cause;
  const label: LabelFacts | undefined = Object.entries(LABELS).find(([name]) => name === diagnosis?.label)?.[1];
  const explanation = label?.explanation ?? `The cause is ${code}.`;
  return {
    code,
    message: CAUSES_WITHOUT_LOG.includes(code) ? message : `${explanation} ${HIDDEN}`,
    evidence: [],
    ...(diagnosis !== undefined && {
      diagnosis: {
        label: diagnosis.label,
        canRetryHelp: diagnosis.canRetryHelp,
        remedy: label?.remedy ?? remedyOf(cause),
      },
    }),
  };
}

function hideFinding(finding: HealthFinding): HealthFinding {
  const { code } = finding;
  return { ...finding, message: `The agent found ${code}. ${HIDDEN}`, remedy: 'Ask the submitter.', evidence: [] };
}
