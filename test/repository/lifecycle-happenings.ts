import { type CauseClass, type CauseCode, causeOf, classOf } from '#shared/domain/cause.ts';
import type { JobEvent, JobEventType, ReplicaExit } from '#shared/domain/event.ts';
import { allReplicasCreated, type Job, type JobIn, type TimestampMs, type UnfinishedJob } from '#shared/domain/job.ts';
import { isWaitOver, waitDeadlineOf } from '#shared/domain/placing.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  DELIVERY_FAILURES_IN_ROW_MAX,
  INTERRUPTIONS_IN_ROW_MAX,
  SETTLED_RUN_MS,
  SETUP_MS_MAX,
  TIMEOUTS,
} from '#shared/domain/timeouts.ts';
import { eventsFor } from '../support/domain/example-job.ts';

/** One way in which an event can come: under which circumstance, when that is so, and the event itself. */
export type Happening = {
  readonly type: JobEventType;
  /** What tells it from the other ways, in a user's words; empty when there is only one. */
  readonly when: string;
  readonly at: (job: UnfinishedJob, now: TimestampMs) => TimestampMs;
  readonly applies: (job: UnfinishedJob, at: TimestampMs) => boolean;
  readonly event: (job: Job, at: TimestampMs) => JobEvent;
};

const STEP_MS = 1_000;

function happening(type: JobEventType, when: string, facts: Partial<Happening> = {}): Happening {
  return {
    type,
    when,
    at: (_, now) => now + STEP_MS,
    applies: () => true,
    event: (job, at) => eventsFor(job, at)[type],
    ...facts,
  };
}

function createFailure(code: CauseCode): Happening {
  const cause = causeOf(code, 'Compute Engine refused.');
  return happening('PLACEMENT_FAILED', `refused, class ${classOf(cause)}`, {
    event: (job, at) => ({ ...eventsFor(job, at).PLACEMENT_FAILED, failure: { cause, zonesAvailable: [] } }),
  });
}

const NO_QUOTA = { zonesAvailable: [], quota: { metric: 'GPUS_ALL_REGIONS', limit: 0, scope: 'PROJECT' } } as const;

function exit(when: string, replicaExit: ReplicaExit, facts: Partial<Happening> = {}): Happening {
  return happening('REPLICA_EXITED', when, {
    event: (job, at) => ({ ...eventsFor(job, at).REPLICA_EXITED, exit: replicaExit }),
    ...facts,
  });
}

function failure(code: CauseCode): ReplicaExit {
  return { outcome: 'FAILED', cause: causeOf(code, 'The replica ended.') };
}

function finalExit(code: CauseCode, what: CauseClass | CauseCode): Happening {
  return exit(`with ${what === code ? code : `class ${what}`}`, failure(code));
}

/** A master that succeeds before its cluster is known to exist has not trained with it. */
const isHalf = (job: UnfinishedJob) => job.status === 'PREPARING' && !allReplicasCreated(job);

const SUCCESS: ReplicaExit = { outcome: 'SUCCEEDED' };

type Interruption = { readonly type: 'REPLICA_EXITED' | 'ATTEMPT_INTERRUPTED'; readonly what: string };

const settledSeconds = SETTLED_RUN_MS / 1_000;

const hasSettled = (job: UnfinishedJob, at: TimestampMs) =>
  job.status === 'RUNNING' && at - job.ranAt >= SETTLED_RUN_MS;

/** An interruption costs no wait at first, and one that grows when attempts hardly ran. */
function earlyInterruptions({ type, what }: Interruption, event: Happening['event']): readonly Happening[] {
  return [
    happening(type, `${what}the first in a row`, {
      event,
      applies: (job, at) => !hasSettled(job, at) && job.counts.interruptionsInRow === 0,
    }),
    happening(type, `${what}again before it ran for ${settledSeconds} s`, {
      event,
      applies: (job, at) => !hasSettled(job, at) && job.counts.interruptionsInRow > 0 && !isLastInterruption(job),
    }),
    happening(type, `${what}again before it ran for ${settledSeconds} s, ${INTERRUPTIONS_IN_ROW_MAX} times before`, {
      event,
      applies: (job, at) => !hasSettled(job, at) && isLastInterruption(job),
    }),
  ];
}

function interruptions({ type, what }: Interruption, event: Happening['event']): readonly Happening[] {
  return [
    ...earlyInterruptions({ type, what }, event),
    happening(type, `${what}after it ran for ${settledSeconds} s`, {
      event,
      applies: (job, at) => hasSettled(job, at) && !isSpent(job, at),
      at: (job, now) => (job.status === 'RUNNING' ? job.ranAt + SETTLED_RUN_MS : now),
    }),
    happening(type, `${what}when maxRunningTime is used up`, { event, applies: isSpent, at: whenSpent }),
  ];
}

const isLastInterruption = (job: Job) => job.counts.interruptionsInRow >= INTERRUPTIONS_IN_ROW_MAX;

/** When the attempts have run for maxRunningTime, all together. */
const whenSpent: Happening['at'] = (job, now) =>
  job.status === 'RUNNING' ? job.ranAt + job.spec.limits.maxRunningMs - job.ranMs : now;

const isSpent = (job: UnfinishedJob, at: TimestampMs) => job.status === 'RUNNING' && at >= whenSpent(job, at);

const hasRestarts = (job: Job) => job.counts.restarts < job.spec.limits.restartsMax;

const whenWaitIsOver: Happening['at'] = (job, now) => Math.max(now, job.wakeAt, waitDeadlineOf(job) ?? 0);

function deadline(
  status: Job['status'],
  when: string,
  facts: Pick<Partial<Happening>, 'applies' | 'at'> = {},
): Happening {
  return happening('DEADLINE_PASSED', when, {
    at: facts.at ?? ((job, now) => Math.max(now, job.wakeAt)),
    applies: (job, at) => job.status === status && (facts.applies?.(job, at) ?? true),
  });
}

function isSilent(job: UnfinishedJob, at: TimestampMs): boolean {
  return (
    job.status === 'PREPARING' &&
    !isWaitOver(job, at) &&
    (job.instances.length > 0 ? job.reportedAt === null : at >= silentAt(job))
  );
}

/** Compute Engine itself has not answered by then, or has kept the VM pending for longer than it was asked to. */
const silentAt = ({ pendingUntil, placedAt }: JobIn<'PREPARING'>) => (pendingUntil ?? placedAt) + TIMEOUTS.bootMs;

const hasReported = (job: UnfinishedJob) => job.status === 'PREPARING' && job.reportedAt !== null;

const isSettingUp = (job: UnfinishedJob) =>
  job.status === 'PREPARING' && job.instances.length > 0 && job.reportedAt !== null;

const isLastBoot = (job: Job) => job.counts.bootFailuresInRow + 1 >= BOOT_FAILURES_IN_ROW_MAX;

const isLastGivenUp = (job: Job) => job.counts.givenUpInRow + 1 >= DELIVERY_FAILURES_IN_ROW_MAX;

/** The VMs have never reported; two variants in time, for Compute Engine may not have answered either. */
function silences(at: Happening['at']): readonly Happening[] {
  return [
    deadline('PREPARING', 'no word from the VMs, the first interruption in a row', {
      at,
      applies: (job, time) => isSilent(job, time) && !isLastBoot(job) && job.counts.interruptionsInRow === 0,
    }),
    deadline('PREPARING', 'no word from the VMs, after another interruption', {
      at,
      applies: (job, time) =>
        isSilent(job, time) && !isLastBoot(job) && job.counts.interruptionsInRow > 0 && !isLastInterruption(job),
    }),
    deadline('PREPARING', `no word from the VMs, after ${INTERRUPTIONS_IN_ROW_MAX} interruptions in a row`, {
      at,
      applies: (job, time) => isSilent(job, time) && !isLastBoot(job) && isLastInterruption(job),
    }),
    deadline('PREPARING', `no word from the VMs, ${BOOT_FAILURES_IN_ROW_MAX} attempts in a row`, {
      at,
      applies: (job, time) => isSilent(job, time) && isLastBoot(job),
    }),
  ];
}

const HALF_SUCCESSES = earlyInterruptions(
  { type: 'REPLICA_EXITED', what: 'the master, with success, its cluster not known to exist, ' },
  (job, at) => ({ ...eventsFor(job, at).REPLICA_EXITED, exit: SUCCESS }),
);

/** Every way in which something can happen to a job, as far as the rules tell them apart. */
export const HAPPENINGS: readonly Happening[] = [
  happening('PLACEMENT_CHOSEN', ''),
  happening('NO_PLACEMENT_LEFT', ''),
  createFailure('STOCKOUT'),
  createFailure('QUOTA_EXCEEDED'),
  happening('PLACEMENT_FAILED', 'refused, a quota of 0', {
    event: (job, at) => ({
      ...eventsFor(job, at).PLACEMENT_FAILED,
      failure: { ...NO_QUOTA, cause: causeOf('QUOTA_EXCEEDED', 'None.') },
    }),
  }),
  createFailure('RATE_LIMITED'),
  createFailure('CONFIGURATION_REFUSED'),
  happening('VMS_PENDING', ''),
  happening('VMS_CREATED', 'no word from the master yet', { applies: (job) => !hasReported(job) }),
  happening('VMS_CREATED', 'the master has reported', { applies: hasReported }),
  happening('REPLICA_REPORTED', 'the master'),
  happening('REPLICA_STARTED', 'the master'),
  happening('REPLICA_UPLOADING', 'the master'),
  exit('the master, with success', SUCCESS, { applies: (job) => !isHalf(job) }),
  ...HALF_SUCCESSES.map((way) => ({
    ...way,
    applies: (job: UnfinishedJob, at: TimestampMs) => isHalf(job) && way.applies(job, at),
  })),
  ...interruptions({ type: 'REPLICA_EXITED', what: 'with class interruption, ' }, (job, at) => ({
    ...eventsFor(job, at).REPLICA_EXITED,
    exit: failure('PREEMPTED'),
  })),
  exit('with class user, restarts left', failure('PROGRAM_FAILED'), {
    applies: (job) => hasRestarts(job) && job.counts.interruptionsInRow <= 1,
  }),
  exit('with class user, restarts left, after interruptions in a row', failure('PROGRAM_FAILED'), {
    applies: (job) => hasRestarts(job) && job.counts.interruptionsInRow > 1,
  }),
  exit('with class user, no restart left', failure('PROGRAM_FAILED'), { applies: (job) => !hasRestarts(job) }),
  finalExit('MAX_RUNNING_TIME_EXCEEDED', 'MAX_RUNNING_TIME_EXCEEDED'),
  finalExit('JOB_DIR_UNWRITABLE', 'configuration'),
  finalExit('INTERNAL_ERROR', 'internal'),
  ...interruptions({ type: 'ATTEMPT_INTERRUPTED', what: '' }, (job, at) => eventsFor(job, at).ATTEMPT_INTERRUPTED),
  happening('CANCEL_REQUESTED', ''),
  happening('DELIVERY_EXHAUSTED', 'of the provision stage', { applies: (job) => !isLastGivenUp(job) }),
  happening('DELIVERY_EXHAUSTED', `of the provision stage, ${DELIVERY_FAILURES_IN_ROW_MAX} times in a row`, {
    applies: isLastGivenUp,
  }),
  deadline('QUEUED', 'maxWaitTime not over', { applies: (job, at) => !isWaitOver(job, at) }),
  deadline('QUEUED', 'maxWaitTime over', { at: whenWaitIsOver, applies: isWaitOver }),
  deadline('PREPARING', 'no answer from Compute Engine', {
    applies: (job, at) => job.status === 'PREPARING' && !isWaitOver(job, at) && !isSilent(job, at) && !isSettingUp(job),
  }),
  deadline('PREPARING', `still setting up after ${SETUP_MS_MAX / 60_000} min`, {
    applies: (job, at) => isSettingUp(job) && !isWaitOver(job, at),
  }),
  deadline('PREPARING', 'maxWaitTime over', { at: whenWaitIsOver, applies: isWaitOver }),
  ...silences((job, now) => Math.max(now, job.wakeAt)),
  ...silences((job, now) => (job.status === 'PREPARING' ? Math.max(job.wakeAt, silentAt(job)) : now)),
  deadline('RUNNING', 'maxRunningTime over'),
  deadline('CLOSING', 'VMs still there'),
  happening('VMS_GONE', ''),
];
