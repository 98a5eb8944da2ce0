import { cancel, finish, tearDownAgain } from '#shared/domain/closing.ts';
import type { EventOf, JobEvent, JobEventType, Transition } from '#shared/domain/event.ts';
import type { Job, JobIn, JobStatus } from '#shared/domain/job.ts';
import { backOff, choosePlacement, giveUp, meetRefusal, provisionAgain } from '#shared/domain/placing.ts';
import { ignore, type Rule } from '#shared/domain/rule.ts';
import {
  meetExit,
  meetInterruption,
  noteInstances,
  noteReport,
  noteUpload,
  noteWait,
  preparingTooLong,
  runningTooLong,
  startRunning,
} from '#shared/domain/running.ts';
import { DEADLINES, type Deadlines } from '#shared/domain/timeouts.ts';

export type Rules = {
  readonly [S in JobStatus]: { readonly [E in JobEventType]?: Rule<JobIn<S>, EventOf<E>> };
};

/** The whole state machine. A pair that is missing here is an event to ignore. */
export const RULES: Rules = {
  QUEUED: {
    PLACEMENT_CHOSEN: choosePlacement,
    NO_PLACEMENT_LEFT: backOff,
    CANCEL_REQUESTED: cancel,
    DELIVERY_EXHAUSTED: giveUp,
    DEADLINE_PASSED: provisionAgain,
  },
  PREPARING: {
    PLACEMENT_FAILED: meetRefusal,
    VMS_PENDING: noteWait,
    VMS_CREATED: noteInstances,
    REPLICA_REPORTED: noteReport,
    REPLICA_STARTED: startRunning,
    REPLICA_EXITED: meetExit,
    ATTEMPT_INTERRUPTED: meetInterruption,
    CANCEL_REQUESTED: cancel,
    DELIVERY_EXHAUSTED: giveUp,
    DEADLINE_PASSED: preparingTooLong,
  },
  RUNNING: {
    REPLICA_UPLOADING: noteUpload,
    REPLICA_EXITED: meetExit,
    ATTEMPT_INTERRUPTED: meetInterruption,
    CANCEL_REQUESTED: cancel,
    DEADLINE_PASSED: runningTooLong,
  },
  CLOSING: {
    DEADLINE_PASSED: tearDownAgain,
    VMS_GONE: finish,
  },
  CLOSED: {},
};

/** Decides the next job and what to do about it. Pure: no clock, no randomness, no input or output. */
export function transition(job: Job, event: JobEvent, deadlines: Deadlines = DEADLINES): Transition {
  // TypeScript cannot correlate the two look-ups; the Rules type has checked every entry.
  const rule = RULES[job.status][event.type] as Rule<Job, JobEvent> | undefined;
  return rule === undefined ? ignore(job) : rule(job, event, deadlines);
}
