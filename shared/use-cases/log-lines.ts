import { type CauseCode, classOf } from '#shared/domain/cause.ts';
import { elapsedMs, inStateMsOf } from '#shared/domain/history.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import type { Job } from '#shared/domain/job.ts';
import type { LogFields, Logger, Severity } from '#shared/observability/logger.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';

/** The record after a transition, and its revision. */
type Committed = {
  readonly record: Job | Tuning;
  readonly entry: HistoryEntry;
  /** Whether the record keeps the entry in its history. */
  readonly isInHistory: boolean;
  readonly revision: number;
};

/**
 * One line for each committed transition: audit trail, metrics and alerts are made of these lines, so that their fields
 * keep their names and units (docs/log-lines.md). A process that dies after its commit loses the line: then the
 * revisions have a gap.
 */
export function logTransition(logger: Logger, { record, entry, isInHistory, revision }: Committed): void {
  const { event, from, to, attempt, placementRound, zone, cause, by, replica } = entry;
  const isJob = 'jobId' in record;
  const id = isJob ? record.jobId : record.tuningId;
  const trial = isJob && record.trial !== null ? { tuningId: record.trial.tuningId } : {};
  const keeps = isJob && 'kept' in record && record.kept !== null ? { isKept: true } : {};
  const what = from === null || from === to ? to : `${from} to ${to}`;
  logger.log('INFO', `${isJob ? 'job' : 'tuning'} ${id}: ${what} (${event}${cause === null ? '' : `, ${cause}`})`, {
    kind: 'transition',
    record: isJob ? 'job' : 'tuning',
    jobId: id,
    ...trial,
    ...{ event, from, to },
    ...(isJob ? { attempt, placementRound, zone } : {}),
    ...causeFields(cause),
    inStateMs: inStateMsOf(entry),
    ageMs: elapsedMs(record.createdAt, entry.at),
    ...{ revision, by, replica },
    ...keeps,
    ...(isInHistory ? {} : { isInHistory }),
  });
}

type Decided = {
  readonly decision:
    | 'VM_DELETED'
    | 'HEARTBEAT_REJECTED'
    | 'LEASE_EXPIRED'
    | 'CREATE_FAILED'
    | 'FAULT_INJECTED'
    | 'SHELL_OPENED';
  readonly message: string;
  readonly severity?: Severity;
};

/** One line for a decision that changes no record. */
export function logDecision(logger: Logger, { message, severity = 'INFO', ...fields }: Decided & LogFields): void {
  logger.log(severity, message, { kind: 'decision', ...fields });
}

export function causeFields(cause: CauseCode | null): LogFields {
  return cause === null ? { cause } : { cause, causeClass: classOf({ code: cause }) };
}

type Verdict = {
  readonly verdict: string;
  readonly jobId?: string | null | undefined;
  /** Since the upload was finalized, or the message published; null if that is not known. */
  readonly verdictMs?: number | null;
};

/** One line for the verdict on an upload or a message; a redelivery writes another one. */
export function logVerdict(logger: Logger, { verdictMs, ...fields }: Verdict & LogFields): void {
  const { verdict, jobId } = fields;
  const time = verdictMs === null || verdictMs === undefined ? {} : { verdictMs };
  logger.log('INFO', `submission of ${jobId ?? 'an unknown job'}: ${verdict}`, { kind: 'verdict', ...fields, ...time });
}
