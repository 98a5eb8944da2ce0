import { cancel, finish, onClosingDeadlinePassed } from '#shared/domain/closing.ts';
import type { EventOf, JobEvent, JobEventType, Transition } from '#shared/domain/event.ts';
import type { Job, JobIn, JobStatus } from '#shared/domain/job.ts';
import {
  backOff,
  giveUp,
  onPlacementChosen,
  onPlacementFailed,
  onQueuedDeadlinePassed,
} from '#shared/domain/placing.ts';
import { ignore, type Rule } from '#shared/domain/rule.ts';
import {
  onInterrupted,
  onPreparingDeadlinePassed,
  onReplicaExited,
  onReplicaReported,
  onReplicaUploading,
  onRunningDeadlinePassed,
  onVmsCreated,
  onVmsPending,
  startRunning,
} from '#shared/domain/running.ts';
import { TIMEOUTS, type Timeouts } from '#shared/domain/timeouts.ts';

export type Rules = {
  readonly [S in JobStatus]: { readonly [E in JobEventType]?: Rule<JobIn<S>, EventOf<E>> };
};

/** The whole state machine. A pair that is missing here is an event to ignore. */
export const RULES: Rules = {
  QUEUED: {
    PLACEMENT_CHOSEN: onPlacementChosen,
    NO_PLACEMENT_LEFT: backOff,
    CANCEL_REQUESTED: cancel,
    DELIVERY_EXHAUSTED: giveUp,
    DEADLINE_PASSED: onQueuedDeadlinePassed,
  },
  PREPARING: {
    PLACEMENT_FAILED: onPlacementFailed,
    VMS_PENDING: onVmsPending,
    VMS_CREATED: onVmsCreated,
    REPLICA_REPORTED: onReplicaReported,
    REPLICA_STARTED: startRunning,
    REPLICA_EXITED: onReplicaExited,
    ATTEMPT_INTERRUPTED: onInterrupted,
    CANCEL_REQUESTED: cancel,
    DELIVERY_EXHAUSTED: giveUp,
    DEADLINE_PASSED: onPreparingDeadlinePassed,
  },
  RUNNING: {
    REPLICA_UPLOADING: onReplicaUploading,
    REPLICA_EXITED: onReplicaExited,
    ATTEMPT_INTERRUPTED: onInterrupted,
    CANCEL_REQUESTED: cancel,
    DEADLINE_PASSED: onRunningDeadlinePassed,
  },
  CLOSING: {
    DEADLINE_PASSED: onClosingDeadlinePassed,
    VMS_GONE: finish,
  },
  CLOSED: {},
};

/** Decides the next job and what to do about it. Pure: no clock, no randomness, no input or output. */
export function transition(job: Job, event: JobEvent, timeouts: Timeouts = TIMEOUTS): Transition {
  // TypeScript cannot correlate the two look-ups; the Rules type has checked every entry.
  const rule = RULES[job.status][event.type] as Rule<Job, JobEvent> | undefined;
  return rule === undefined ? ignore(job) : rule(job, event, timeouts);
}
