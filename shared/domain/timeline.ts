import {
  type AttemptRecord,
  currentAttemptOf,
  type Job,
  type JobIn,
  stateOf,
  type TimestampMs,
} from '#shared/domain/job.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';

/**
 * The phases of an attempt: it waits for its VMs (QUEUED), they boot and install (PREPARING), its program runs
 * (RUNNING), the outputs of the program that ended are saved (UPLOADING), the VM of one that failed is kept for a look
 * (KEPT), and the VMs of the last attempt are deleted (CLOSING).
 */
export const ATTEMPT_PHASES = ['QUEUED', 'PREPARING', 'RUNNING', 'UPLOADING', 'KEPT', 'CLOSING'] as const;
export type AttemptPhase = (typeof ATTEMPT_PHASES)[number];

/** `endedAt` is null for the phase in which the job is now. */
export type PhaseSpan = {
  readonly phase: AttemptPhase;
  readonly startedAt: TimestampMs;
  readonly endedAt: TimestampMs | null;
};

/** One attempt with its phases, in their order and without gaps. */
export type AttemptTimeline = {
  readonly attempt: number;
  readonly zone: string | null;
  readonly provisioningModel: ProvisioningModel | null;
  /** The code of the cause that ended it; null if it succeeded or has not ended. */
  readonly cause: string | null;
  readonly message: string | null;
  readonly phases: readonly PhaseSpan[];
};

/** When the master's program ended in an attempt; the job's record does not keep it. */
export type ProgramEnd = { readonly attempt: number; readonly endedAt: TimestampMs };

/**
 * The attempts of a job with their phases, oldest first: those of the ledger (the newest ATTEMPT_RECORDS_MAX), and the
 * current one. `programEnd` is known for the last attempt only, from its replica record: of earlier ones, the time in
 * which outputs were saved counts as RUNNING.
 */
export function timelineOf(job: Job, programEnd: ProgramEnd | null): readonly AttemptTimeline[] {
  const past = job.ledger.map((record, index) => {
    const before = job.ledger[index - 1];
    // The ledger may no longer have the attempt before its first one.
    const startedAt = before?.endedAt ?? (record.attempt === 1 ? job.createdAt : (record.placedAt ?? record.endedAt));
    return viewRecord(record, { startedAt, programEnd });
  });
  const last = past.at(-1);
  if (job.status === 'CLOSING' || job.status === 'CLOSED') {
    const startedAt = job.ledger.at(-1)?.endedAt;
    const closing = startedAt === undefined ? [] : spansOfEnd(job, startedAt);
    return last === undefined ? [] : [...past.slice(0, -1), { ...last, phases: [...last.phases, ...closing] }];
  }
  return [...past, viewCurrent(job, programEnd)];
}

function spansOfEnd(job: JobIn<'CLOSING'> | JobIn<'CLOSED'>, startedAt: TimestampMs): readonly PhaseSpan[] {
  const endedAt = job.status === 'CLOSED' ? job.endedAt : null;
  if (job.kept === null) {
    return [{ phase: 'CLOSING', startedAt, endedAt }];
  }
  const { releasedAt } = job.kept;
  const kept: PhaseSpan = { phase: 'KEPT', startedAt, endedAt: releasedAt };
  const isOver = releasedAt !== null && (endedAt === null || endedAt > releasedAt);
  return isOver ? [kept, { phase: 'CLOSING', startedAt: releasedAt, endedAt }] : [kept];
}

type Bounds = { readonly startedAt: TimestampMs; readonly programEnd: ProgramEnd | null };

/** `endedAt` is null for the current attempt. */
type ViewedRecord = Omit<AttemptRecord, 'endedAt'> & { readonly endedAt: TimestampMs | null };

function viewRecord(record: ViewedRecord, { startedAt, programEnd }: Bounds): AttemptTimeline {
  const { attempt, zone, provisioningModel, placedAt, ranAt, endedAt, cause } = record;
  const end = programEnd?.attempt === attempt && ranAt !== null ? programEnd.endedAt : null;
  const starts = { QUEUED: startedAt, PREPARING: placedAt, RUNNING: ranAt, UPLOADING: end };
  return {
    attempt,
    zone,
    provisioningModel,
    cause: cause?.code ?? null,
    message: cause?.message ?? null,
    phases: spansOf(starts, endedAt),
  };
}

function viewCurrent(job: Job, programEnd: ProgramEnd | null): AttemptTimeline {
  const startedAt = job.ledger.at(-1)?.endedAt ?? job.createdAt;
  const uploadingAt = job.status === 'RUNNING' ? job.uploadingAt : null;
  const current = currentAttemptOf(job);
  const placedAt = stateOf(job) === 'QUEUED' ? null : current.placedAt;
  return viewRecord(
    { ...current, placedAt, endedAt: null, cause: null },
    { startedAt, programEnd: uploadingAt === null ? programEnd : { attempt: job.attempt, endedAt: uploadingAt } },
  );
}

type EndPhase = 'KEPT' | 'CLOSING';
type Starts = Readonly<Record<Exclude<AttemptPhase, EndPhase>, TimestampMs | null>>;

/** Spans that follow each other: clocks of VMs and control plane differ, so that a start can precede the one before. */
function spansOf(starts: Starts, endedAt: TimestampMs | null): readonly PhaseSpan[] {
  const limit = endedAt ?? Number.POSITIVE_INFINITY;
  const known = ATTEMPT_PHASES.flatMap((phase) => {
    const startedAt = phase === 'KEPT' || phase === 'CLOSING' ? null : starts[phase];
    return startedAt === null ? [] : [{ phase, startedAt }];
  });
  let from = 0;
  const ordered = known.map(({ phase, startedAt }) => {
    from = Math.min(limit, Math.max(from, startedAt));
    return { phase, startedAt: from };
  });
  return ordered
    .map((span, index) => ({ ...span, endedAt: ordered[index + 1]?.startedAt ?? endedAt }))
    .filter((span) => span.endedAt === null || span.endedAt > span.startedAt);
}
