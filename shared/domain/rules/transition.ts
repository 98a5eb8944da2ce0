import type { Transition } from '#shared/domain/effect.ts';
import type { EventOf, JobEvent, JobEventType } from '#shared/domain/event.ts';
import { jobEntryOf, recordEntry } from '#shared/domain/history.ts';
import type { Job, JobIn, JobStatus } from '#shared/domain/job.ts';
import { onCancelRequested } from '#shared/domain/rules/close.ts';
import * as closing from '#shared/domain/rules/closing.ts';
import { onHeldFailureResolved } from '#shared/domain/rules/holding.ts';
import { onReleaseRequested } from '#shared/domain/rules/keeping.ts';
import { onDeliveryExhausted, onEndedPlacementsGone } from '#shared/domain/rules/placement.ts';
import * as preparing from '#shared/domain/rules/preparing.ts';
import * as queued from '#shared/domain/rules/queued.ts';
import { ignore, onShellOpened, type Rule } from '#shared/domain/rules/rule.ts';
import * as running from '#shared/domain/rules/running.ts';
import * as stopping from '#shared/domain/rules/stopping.ts';
import { TIMEOUTS, type Timeouts } from '#shared/domain/timeouts.ts';

export type Rules = {
  readonly [S in JobStatus]: { readonly [E in JobEventType]?: Rule<JobIn<S>, EventOf<E>> };
};

/** The whole state machine. An event without an entry for the job's status is ignored. */
export const RULES: Rules = {
  QUEUED: {
    PLACEMENT_CHOSEN: queued.onPlacementChosen,
    NO_PLACEMENT_LEFT: queued.onNoPlacementLeft,
    SUCCESS_FOUND: queued.onSuccessFound,
    CANCEL_REQUESTED: onCancelRequested,
    STOP_REQUESTED: stopping.onStopRequestedWhileWaiting,
    DELIVERY_EXHAUSTED: onDeliveryExhausted,
    DEADLINE_PASSED: queued.onDeadlinePassed,
    CAPACITY_FREED: queued.onCapacityFreed,
    ENDED_PLACEMENTS_GONE: onEndedPlacementsGone,
  },
  PREPARING: {
    PLACEMENT_FAILED: preparing.onPlacementFailed,
    VMS_PENDING: preparing.onVmsPending,
    VMS_CREATED: preparing.onVmsCreated,
    REPLICA_REPORTED: preparing.onReplicaReported,
    REPLICA_STARTED: preparing.onReplicaStarted,
    REPLICA_EXITED: preparing.onReplicaExited,
    HELD_FAILURE_RESOLVED: onHeldFailureResolved,
    ATTEMPT_INTERRUPTED: preparing.onInterrupted,
    CANCEL_REQUESTED: onCancelRequested,
    SHELL_OPENED: onShellOpened,
    STOP_REQUESTED: stopping.onStopRequestedWhileWaiting,
    DELIVERY_EXHAUSTED: onDeliveryExhausted,
    DEADLINE_PASSED: preparing.onDeadlinePassed,
    ENDED_PLACEMENTS_GONE: onEndedPlacementsGone,
  },
  RUNNING: {
    REPLICA_UPLOADING: running.onReplicaUploading,
    REPLICA_EXITED: running.onReplicaExited,
    HELD_FAILURE_RESOLVED: onHeldFailureResolved,
    ATTEMPT_INTERRUPTED: running.onInterrupted,
    CANCEL_REQUESTED: onCancelRequested,
    SHELL_OPENED: onShellOpened,
    STOP_REQUESTED: stopping.onStopRequested,
    DEADLINE_PASSED: running.onDeadlinePassed,
    ENDED_PLACEMENTS_GONE: onEndedPlacementsGone,
  },
  CLOSING: {
    RELEASE_REQUESTED: onReleaseRequested,
    CANCEL_REQUESTED: onReleaseRequested,
    SHELL_OPENED: onShellOpened,
    DEADLINE_PASSED: closing.onDeadlinePassed,
    ENDED_PLACEMENTS_GONE: onEndedPlacementsGone,
    VMS_GONE: closing.onVmsGone,
  },
  CLOSED: {},
};

/**
 * Whether the event is of an earlier attempt or placement round, or woke the job before its deadline: no rule sees it.
 * PLACEMENT_FAILED names no round, since its id names the placement.
 */
function isStale(job: Job, event: JobEvent): boolean {
  return (
    ('attempt' in event && event.attempt !== job.attempt) ||
    ('placementRound' in event && event.placementRound !== job.placementRound) ||
    (event.type === 'DEADLINE_PASSED' && job.status !== 'CLOSED' && event.at < job.wakeAt)
  );
}

/**
 * Returns the next job, with the event in its history, and the effects to publish. Pure: no clock, no randomness, no
 * I/O. A job that the event does not change is returned as it is.
 */
export function transition(job: Job, event: JobEvent, timeouts: Timeouts = TIMEOUTS): Transition {
  // TypeScript cannot correlate the two look-ups; the Rules type has checked every entry.
  const rule = RULES[job.status][event.type] as Rule<Job, JobEvent> | undefined;
  const { job: next, effects } = rule === undefined || isStale(job, event) ? ignore(job) : rule(job, event, timeouts);
  return { job: next === job ? job : recordEntry(next, jobEntryOf(job, next, event)), effects };
}
