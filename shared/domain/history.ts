import type { Cause } from '#shared/domain/cause.ts';
import type { JobEvent } from '#shared/domain/event.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import { isPlaced, type Job, type TimestampMs } from '#shared/domain/job.ts';
import { clip } from '#shared/domain/job-size.ts';

/** Limit on a job's history: the first entry, which says who submitted it, and the newest ones are kept. */
export const JOB_HISTORY_ENTRIES_MAX = 50;

/** Limit on who asked, which is an e-mail address of at most 320 characters. */
const BY_BYTES_MAX = 330;

/** The fields that jobs and tunings share here. */
type Recorded = { readonly history: readonly HistoryEntry[] } & (
  | { readonly status: 'CLOSED'; readonly verdict: { readonly state: string } }
  | { readonly status: Exclude<string, 'CLOSED'> }
);

type Event = {
  readonly type: string;
  readonly at: TimestampMs;
  readonly by?: string | null | undefined;
  readonly replica?: string | undefined;
};

/** The first entry of a job, in its first attempt, or of a tuning, which has none. */
export function submittedEntry(
  to: 'QUEUED' | 'SEARCHING',
  { at, by }: { readonly at: TimestampMs; readonly by: string | null },
): HistoryEntry {
  const none = { from: null, since: null, zone: null, cause: null };
  const attempt = to === 'QUEUED' ? 1 : 0;
  return { at, event: 'SUBMITTED', ...none, to, attempt, placementRound: attempt, by: clipBy(by) };
}

/** The part of an entry that follows from the record before and after an event, whatever the record is. */
export function changeOf(before: Recorded, after: Recorded, event: Event) {
  const last = before.history.at(-1);
  const since = last === undefined ? null : last.from === last.to ? last.since : last.at;
  const replica = event.replica === undefined ? {} : { replica: event.replica };
  return {
    at: event.at,
    event: event.type,
    from: nameOf(before),
    to: nameOf(after),
    since,
    by: clipBy(event.by),
    ...replica,
  };
}

/** The effect of an event on a job: one entry of its history, and one line of the log. */
export function jobEntryOf(before: Job, after: Job, event: JobEvent): HistoryEntry {
  const { attempt, placementRound } = before;
  const zone = zoneOf(after) ?? zoneOf(before);
  const cause = causeAfter(before, after)?.code ?? null;
  return { ...changeOf(before, after, event), attempt, placementRound, zone, cause };
}

/** The job with the entry. Events that only had it re-checked are left out: a job can wait for days. */
export function recordEntry(job: Job, entry: HistoryEntry): Job {
  const { history } = job;
  if (isRecheck(entry, history.at(-1))) {
    return job;
  }
  const kept = history.length < JOB_HISTORY_ENTRIES_MAX ? history : [...history.slice(0, 1), ...history.slice(2)];
  return { ...job, history: [...kept, entry] };
}

/** Whether a job that waits was only woken, or waits on for the reason that its last entry names. */
function isRecheck({ event, from, to, attempt, cause }: HistoryEntry, last: HistoryEntry | undefined): boolean {
  const isRepeated = event === last?.event && attempt === last.attempt && cause === last.cause;
  const isWoken = event === 'DEADLINE_PASSED' || event === 'CAPACITY_FREED';
  return from === to && (isWoken || (event === 'NO_PLACEMENT_LEFT' && isRepeated));
}

/** How long the record had been in the state `from`; never negative, null if that is not known. */
export function inStateMsOf({ at, since }: HistoryEntry): number | null {
  return elapsedMs(since, at);
}

/** Clocks of two processes differ: the time between them is at least 0. Null if one of them is not known. */
export function elapsedMs(from: TimestampMs | null | undefined, to: TimestampMs): number | null {
  const ms = to - (from ?? Number.NaN);
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : null;
}

/** The status, or how a closed record ended. */
function nameOf(record: Recorded): string {
  return 'verdict' in record && record.status === 'CLOSED' ? record.verdict.state : record.status;
}

function zoneOf(job: Job): string | null {
  return isPlaced(job) ? job.placement.zone : null;
}

/** Why the job ends, waits or is about to end. Of a job that is placed, an earlier reason for waiting is not it. */
function causeAfter(before: Job, after: Job): Cause | null {
  switch (after.status) {
    case 'CLOSING':
    case 'CLOSED':
      return after.verdict.cause;
    case 'QUEUED':
      return after.waitingFor;
    default:
      return after.heldFailure?.cause ?? (after.waitingFor === before.waitingFor ? null : after.waitingFor);
  }
}

function clipBy(by: string | null | undefined): string | null {
  return by === null || by === undefined ? null : clip(by, BY_BYTES_MAX);
}
