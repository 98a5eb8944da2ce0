import { type CauseClass, type CauseCode, causeOf, classOf } from '#shared/domain/cause.ts';
import type { JobEvent, JobEventType, ReplicaExit } from '#shared/domain/event.ts';
import {
  allReplicasCreated,
  isKeeping,
  isPending,
  isPlaced,
  type Job,
  type JobIn,
  replicasOf,
  type TimestampMs,
  type UnfinishedJob,
} from '#shared/domain/job.ts';
import { hasTooManyUnusedVms, isWaitOver, waitDeadlineOf } from '#shared/domain/rules/limits.ts';
import {
  BOOT_FAILURES_IN_ROW_MAX,
  DELIVERY_FAILURES_IN_ROW_MAX,
  INTERRUPTIONS_IN_ROW_MAX,
  SETUP_MS_MAX,
  STABLE_RUN_MS,
  TIMEOUTS,
  UNUSED_VMS_PER_REPLICA_MAX,
} from '#shared/domain/timeouts.ts';
import { eventsFor } from '../support/domain/example-job.ts';

/** One case of an event: its condition, when the condition holds, and the event itself. */
export type LifecycleCase = {
  readonly type: JobEventType;
  /** The condition that distinguishes it from the event's other cases; empty if there is only one. */
  readonly when: string;
  readonly at: (job: UnfinishedJob, now: TimestampMs) => TimestampMs;
  readonly applies: (job: UnfinishedJob, at: TimestampMs) => boolean;
  readonly event: (job: Job, at: TimestampMs) => JobEvent;
};

const STEP_MS = 1_000;

function lifecycleCase(type: JobEventType, when: string, facts: Partial<LifecycleCase> = {}): LifecycleCase {
  return {
    type,
    when,
    at: (_, now) => now + STEP_MS,
    applies: () => true,
    event: (job, at) => eventsFor(job, at)[type],
    ...facts,
  };
}

function createFailure(code: CauseCode): LifecycleCase {
  const cause = causeOf(code, 'Compute Engine rejected the request.');
  return lifecycleCase('PLACEMENT_FAILED', `class ${classOf(cause)}`, {
    event: (job, at) => ({ ...eventsFor(job, at).PLACEMENT_FAILED, failure: { cause, zonesAvailable: [] } }),
  });
}

const NO_QUOTA = {
  zonesAvailable: [],
  quota: { metric: 'GPUS_ALL_REGIONS', family: null, limit: 0, scope: 'PROJECT' },
} as const;

function exit(when: string, replicaExit: ReplicaExit, facts: Partial<LifecycleCase> = {}): LifecycleCase {
  return lifecycleCase('REPLICA_EXITED', when, {
    event: (job, at) => ({ ...eventsFor(job, at).REPLICA_EXITED, exit: replicaExit }),
    ...facts,
  });
}

function failure(code: CauseCode): ReplicaExit {
  return { outcome: 'FAILED', cause: causeOf(code, 'The replica ended.') };
}

/** A failure of which the same program with the same arguments ends the same way again. */
function hopelessFailure(code: CauseCode): ReplicaExit {
  const diagnosis = { label: 'shape_or_dtype_error', remedy: 'Correct the shape.', canRetryHelp: false };
  return { outcome: 'FAILED', cause: { ...causeOf(code, 'The replica ended.'), diagnosis } };
}

const isCluster = (job: UnfinishedJob) => replicasOf(job.spec).length > 1 && isPlaced(job) && allReplicasCreated(job);

const isPendingCluster = (job: UnfinishedJob) => isPending(job) && replicasOf(job.spec).length > 1;

const hasHeldFailure = (job: UnfinishedJob) => isPlaced(job) && job.heldFailure !== null;

const hasFinished = (job: UnfinishedJob) => isPlaced(job) && job.heldFailure?.hasMasterSucceeded === true;

/** Cases of a held failure that is resolved, by the class of the outcome. */
function resolved(when: string, replicaExit: ReplicaExit, applies: (job: UnfinishedJob) => boolean = () => true) {
  return lifecycleCase('HELD_FAILURE_RESOLVED', when, {
    event: (job, at) => ({ ...eventsFor(job, at).HELD_FAILURE_RESOLVED, exit: replicaExit }),
    applies,
  });
}

function finalExit(code: CauseCode, what: CauseClass | CauseCode): LifecycleCase {
  return exit(what === code ? code : `class ${what}`, failure(code));
}

/** A master that succeeds before all VMs are confirmed has run on a part of its cluster. */
const isIncomplete = (job: UnfinishedJob) => job.status === 'PREPARING' && !allReplicasCreated(job);

const SUCCESS: ReplicaExit = { outcome: 'SUCCEEDED' };

type Interruption = {
  readonly type: 'REPLICA_EXITED' | 'ATTEMPT_INTERRUPTED' | 'HELD_FAILURE_RESOLVED';
  readonly what: string;
};

const stableSeconds = STABLE_RUN_MS / 1_000;

const wasStable = (job: UnfinishedJob, at: TimestampMs) => job.status === 'RUNNING' && at - job.ranAt >= STABLE_RUN_MS;

/** The first interruption in a row causes no backoff; further ones do if attempts hardly ran. */
function earlyInterruptions({ type, what }: Interruption, event: LifecycleCase['event']): readonly LifecycleCase[] {
  return [
    lifecycleCase(type, `${what}first in a row`, {
      event,
      applies: (job, at) => !wasStable(job, at) && job.counts.interruptionsInRow === 0,
    }),
    lifecycleCase(type, `${what}after less than ${stableSeconds} s of running, not the first in a row`, {
      event,
      applies: (job, at) => !wasStable(job, at) && job.counts.interruptionsInRow > 0 && !isInterruptionLimit(job),
    }),
    lifecycleCase(
      type,
      `${what}after less than ${stableSeconds} s of running, more than ${INTERRUPTIONS_IN_ROW_MAX} in a row`,
      {
        event,
        applies: (job, at) => !wasStable(job, at) && isInterruptionLimit(job),
      },
    ),
  ];
}

function interruptions(interruption: Interruption, event: LifecycleCase['event']): readonly LifecycleCase[] {
  const unfinished = interruptionsOfUnfinished(interruption, event).map((each) => ({
    ...each,
    applies: (job: UnfinishedJob, at: TimestampMs) => !hasFinished(job) && each.applies(job, at),
  }));
  const when = `${interruption.what}the master has succeeded while a failure was held`;
  return [...unfinished, lifecycleCase(interruption.type, when, { event, applies: hasFinished })];
}

function interruptionsOfUnfinished(
  { type, what }: Interruption,
  event: LifecycleCase['event'],
): readonly LifecycleCase[] {
  return [
    ...earlyInterruptions({ type, what }, event),
    lifecycleCase(type, `${what}after at least ${stableSeconds} s of running`, {
      event,
      applies: (job, at) => wasStable(job, at) && !isRunningTimeUsedUp(job, at),
      at: (job, now) => (job.status === 'RUNNING' ? job.ranAt + STABLE_RUN_MS : now),
    }),
    lifecycleCase(type, `${what}maxRunningTime used up`, {
      event,
      applies: isRunningTimeUsedUp,
      at: runningTimeUsedUpAt,
    }),
  ];
}

const isInterruptionLimit = (job: Job) => job.counts.interruptionsInRow >= INTERRUPTIONS_IN_ROW_MAX;

/** When all attempts together have run for maxRunningTime. */
const runningTimeUsedUpAt: LifecycleCase['at'] = (job, now) =>
  job.status === 'RUNNING' ? job.ranAt + job.spec.limits.maxRunningMs - job.ranMs : now;

const isRunningTimeUsedUp = (job: UnfinishedJob, at: TimestampMs) =>
  job.status === 'RUNNING' && at >= runningTimeUsedUpAt(job, at);

const hasRestarts = (job: Job) => job.counts.restarts < job.spec.limits.restartsMax;

const keeps = ({ spec }: Job) => spec.limits.keepOnFailureMs > 0;

const hasKept = (job: UnfinishedJob) => job.status === 'CLOSING' && job.kept !== null;

const waitOverAt: LifecycleCase['at'] = (job, now) => Math.max(now, job.wakeAt, waitDeadlineOf(job) ?? 0);

function deadline(
  status: Job['status'],
  when: string,
  { isHeld = false, ...facts }: Pick<Partial<LifecycleCase>, 'applies' | 'at'> & { readonly isHeld?: boolean } = {},
): LifecycleCase {
  return lifecycleCase('DEADLINE_PASSED', when, {
    at: facts.at ?? ((job, now) => Math.max(now, job.wakeAt)),
    applies: (job, at) => job.status === status && hasHeldFailure(job) === isHeld && (facts.applies?.(job, at) ?? true),
  });
}

function isBootTimedOut(job: UnfinishedJob, at: TimestampMs): boolean {
  return (
    job.status === 'PREPARING' &&
    !isWaitOver(job, at) &&
    (job.instances.length > 0 ? job.reportedAt === null : at >= bootTimeoutAt(job))
  );
}

/** By then Compute Engine has not answered, or has kept the VM pending for longer than requested. */
const bootTimeoutAt = ({ pendingUntil, placedAt }: JobIn<'PREPARING'>) => (pendingUntil ?? placedAt) + TIMEOUTS.bootMs;

const hasReported = (job: UnfinishedJob) => job.status === 'PREPARING' && job.reportedAt !== null;

const isSettingUp = (job: UnfinishedJob) =>
  job.status === 'PREPARING' && job.instances.length > 0 && job.reportedAt !== null;

const isBootFailureLimit = (job: Job) => job.counts.bootFailuresInRow + 1 >= BOOT_FAILURES_IN_ROW_MAX;

const isDeliveryFailureLimit = (job: Job) => job.counts.deliveryFailuresInRow + 1 >= DELIVERY_FAILURES_IN_ROW_MAX;

/** No VM has sent a heartbeat; called for two points in time, since Compute Engine may not have answered either. */
function bootTimeouts(at: LifecycleCase['at']): readonly LifecycleCase[] {
  return [
    deadline('PREPARING', 'no heartbeat from the VMs, first interruption in a row', {
      at,
      applies: (job, time) =>
        isBootTimedOut(job, time) && !isBootFailureLimit(job) && job.counts.interruptionsInRow === 0,
    }),
    deadline('PREPARING', 'no heartbeat from the VMs, not the first interruption in a row', {
      at,
      applies: (job, time) =>
        isBootTimedOut(job, time) &&
        !isBootFailureLimit(job) &&
        job.counts.interruptionsInRow > 0 &&
        !isInterruptionLimit(job),
    }),
    deadline('PREPARING', `no heartbeat from the VMs, more than ${INTERRUPTIONS_IN_ROW_MAX} interruptions in a row`, {
      at,
      applies: (job, time) => isBootTimedOut(job, time) && !isBootFailureLimit(job) && isInterruptionLimit(job),
    }),
    deadline('PREPARING', `no heartbeat from the VMs, ${BOOT_FAILURES_IN_ROW_MAX} attempts in a row`, {
      at,
      applies: (job, time) => isBootTimedOut(job, time) && isBootFailureLimit(job),
    }),
  ];
}

const INCOMPLETE_SUCCESSES = earlyInterruptions(
  { type: 'REPLICA_EXITED', what: 'the master succeeded, not all VMs confirmed, ' },
  (job, at) => ({ ...eventsFor(job, at).REPLICA_EXITED, exit: SUCCESS }),
);

const isStopping = (job: UnfinishedJob) => job.status === 'RUNNING' && job.stopRequestedAt !== null;

/** Once a job is asked to stop, the classes of failures no longer matter, except for those that the stop cannot cause. */
const STOPPING_CASES: readonly LifecycleCase[] = [
  exit('the master succeeded', SUCCESS),
  exit('class interruption', failure('PREEMPTED')),
  exit('class user, after the request to stop', failure('PROGRAM_FAILED')),
  exit('class user, before the request to stop, single VM', failure('PROGRAM_FAILED'), {
    applies: (job) => replicasOf(job.spec).length === 1,
    event: (job, at) => ({
      ...eventsFor(job, at).REPLICA_EXITED,
      exit: failure('PROGRAM_FAILED'),
      endedAt: (job.status === 'RUNNING' ? (job.stopRequestedAt ?? at) : at) - STEP_MS,
    }),
  }),
  finalExit('JOB_DIR_UNWRITABLE', 'configuration'),
  finalExit('INTERNAL_ERROR', 'internal'),
  lifecycleCase('ATTEMPT_INTERRUPTED', ''),
  lifecycleCase('REPLICA_UPLOADING', 'the master', {
    applies: (job) => job.status === 'RUNNING' && job.uploadingAt === null,
  }),
  lifecycleCase('CANCEL_REQUESTED', ''),
  deadline('RUNNING', 'the program has not ended in time'),
];

/** The cases of events that lead elsewhere once the job is asked to stop. */
const OTHER_CASES: readonly LifecycleCase[] = [
  lifecycleCase('PLACEMENT_CHOSEN', '', { applies: (job) => !hasTooManyUnusedVms(job) }),
  lifecycleCase('PLACEMENT_CHOSEN', `${UNUSED_VMS_PER_REPLICA_MAX} unused VMs per replica in a row`, {
    applies: hasTooManyUnusedVms,
  }),
  lifecycleCase('NO_PLACEMENT_LEFT', ''),
  createFailure('STOCKOUT'),
  createFailure('QUOTA_EXCEEDED'),
  lifecycleCase('PLACEMENT_FAILED', 'class quota, limit too low for the job alone', {
    event: (job, at) => ({
      ...eventsFor(job, at).PLACEMENT_FAILED,
      failure: { ...NO_QUOTA, cause: causeOf('QUOTA_EXCEEDED', 'None.') },
    }),
  }),
  createFailure('RATE_LIMITED'),
  createFailure('CONFIGURATION_REFUSED'),
  lifecycleCase('VMS_PENDING', 'no VM has started'),
  lifecycleCase('VMS_PENDING', 'some VMs of the cluster have started', {
    applies: (job) => replicasOf(job.spec).length > 1,
    event: (job, at) => ({ ...eventsFor(job, at).VMS_PENDING, startedVms: 1 }),
  }),
  lifecycleCase('PROFILE_REQUESTED', 'the program runs', {
    applies: (job) => job.status === 'RUNNING' && job.uploadingAt === null,
  }),
  lifecycleCase('VMS_CREATED', 'no heartbeat of the master yet', { applies: (job) => !hasReported(job) }),
  lifecycleCase('VMS_CREATED', 'the master has sent a heartbeat', { applies: hasReported }),
  lifecycleCase('REPLICA_REPORTED', 'the master', { applies: (job) => !isPendingCluster(job) }),
  lifecycleCase('REPLICA_REPORTED', 'the master of a cluster', { applies: isPendingCluster }),
  lifecycleCase('REPLICA_REPORTED', 'another replica', {
    applies: isPendingCluster,
    event: (job, at) => ({ ...eventsFor(job, at).REPLICA_REPORTED, replica: 'worker-0' }),
  }),
  lifecycleCase('REPLICA_STARTED', 'the master'),
  lifecycleCase('REPLICA_UPLOADING', 'the master'),
  exit('the master succeeded', SUCCESS, { applies: (job) => !isIncomplete(job) && !hasHeldFailure(job) }),
  exit('the master succeeded after the held failure', SUCCESS, { applies: hasHeldFailure }),
  exit('the master succeeded before the held failure', SUCCESS, {
    applies: hasHeldFailure,
    event: (job, at) => ({ ...eventsFor(job, at).REPLICA_EXITED, exit: SUCCESS, endedAt: 0 }),
  }),
  ...INCOMPLETE_SUCCESSES.map((each) => ({
    ...each,
    applies: (job: UnfinishedJob, at: TimestampMs) => isIncomplete(job) && each.applies(job, at),
  })),
  ...interruptions({ type: 'REPLICA_EXITED', what: 'class interruption, ' }, (job, at) => ({
    ...eventsFor(job, at).REPLICA_EXITED,
    exit: failure('PREEMPTED'),
  })),
  exit('class user, in a cluster', failure('PROGRAM_FAILED'), { applies: isCluster }),
  exit('class user, restarts left', failure('PROGRAM_FAILED'), {
    applies: (job) => !isCluster(job) && hasRestarts(job) && job.counts.interruptionsInRow <= 1,
  }),
  exit('class user, restarts left, after several interruptions in a row', failure('PROGRAM_FAILED'), {
    applies: (job) => !isCluster(job) && hasRestarts(job) && job.counts.interruptionsInRow > 1,
  }),
  exit('class user, no restarts left', failure('PROGRAM_FAILED'), {
    applies: (job) => !isCluster(job) && !hasRestarts(job) && !keeps(job),
  }),
  exit('class user, no restarts left, keepOnFailure', failure('PROGRAM_FAILED'), {
    applies: (job) => !isCluster(job) && !hasRestarts(job) && keeps(job),
  }),
  exit('class user, a retry cannot help', hopelessFailure('PROGRAM_FAILED'), {
    applies: (job) => !isCluster(job) && !keeps(job),
  }),
  resolved('the master succeeded', SUCCESS),
  resolved('class user, restarts left', failure('PROGRAM_FAILED'), hasRestarts),
  resolved('class user, no restarts left', failure('PROGRAM_FAILED'), (job) => !hasRestarts(job) && !keeps(job)),
  resolved('class user, no restarts left, keepOnFailure', failure('PROGRAM_FAILED'), keeps),
  resolved('class user, a retry cannot help', hopelessFailure('PROGRAM_FAILED'), (job) => !keeps(job)),
  ...interruptions({ type: 'HELD_FAILURE_RESOLVED', what: 'class interruption, ' }, (job, at) => ({
    ...eventsFor(job, at).HELD_FAILURE_RESOLVED,
    exit: failure('PREEMPTED'),
  })),
  finalExit('MAX_RUNNING_TIME_EXCEEDED', 'MAX_RUNNING_TIME_EXCEEDED'),
  finalExit('JOB_DIR_UNWRITABLE', 'configuration'),
  finalExit('INTERNAL_ERROR', 'internal'),
  ...interruptions({ type: 'ATTEMPT_INTERRUPTED', what: '' }, (job, at) => eventsFor(job, at).ATTEMPT_INTERRUPTED),
  lifecycleCase('CANCEL_REQUESTED', ''),
  lifecycleCase('DELIVERY_EXHAUSTED', 'topic provision', { applies: (job) => !isDeliveryFailureLimit(job) }),
  lifecycleCase('DELIVERY_EXHAUSTED', `topic provision, ${DELIVERY_FAILURES_IN_ROW_MAX} times in a row`, {
    applies: isDeliveryFailureLimit,
  }),
  deadline('QUEUED', 'maxWaitTime not exceeded', { applies: (job, at) => !isWaitOver(job, at) }),
  deadline('QUEUED', 'maxWaitTime exceeded', { at: waitOverAt, applies: isWaitOver }),
  deadline('PREPARING', 'no answer from Compute Engine', {
    applies: (job, at) =>
      job.status === 'PREPARING' && !isWaitOver(job, at) && !isBootTimedOut(job, at) && !isSettingUp(job),
  }),
  deadline('PREPARING', `still in setup after ${SETUP_MS_MAX / 60_000} min`, {
    applies: (job, at) => isSettingUp(job) && !isWaitOver(job, at),
  }),
  deadline('PREPARING', 'maxWaitTime exceeded', { at: waitOverAt, applies: isWaitOver }),
  ...bootTimeouts((job, now) => Math.max(now, job.wakeAt)),
  ...bootTimeouts((job, now) => (job.status === 'PREPARING' ? Math.max(job.wakeAt, bootTimeoutAt(job)) : now)),
  deadline('RUNNING', 'maxRunningTime exceeded'),
  deadline('PREPARING', 'failure held', { isHeld: true }),
  deadline('RUNNING', 'failure held', { isHeld: true }),
  deadline('CLOSING', 'VMs not deleted yet', { applies: (job) => !isKeeping(job) }),
  deadline('CLOSING', 'the kept VM is checked', {
    applies: (job, at) => isKeeping(job) && at < job.kept.until,
  }),
  deadline('CLOSING', 'the time of the kept VM is over', {
    at: (job, now) => (isKeeping(job) ? Math.max(now, job.kept.until) : now),
    applies: (job) => isKeeping(job),
  }),
  lifecycleCase('RELEASE_REQUESTED', ''),
  lifecycleCase('VMS_GONE', 'a trial of a tuning', { applies: ({ trial }) => trial !== null }),
  lifecycleCase('VMS_GONE', 'not a trial', { applies: (job) => job.trial === null && !hasKept(job) }),
  lifecycleCase('VMS_GONE', 'a VM was kept', { applies: hasKept }),
  lifecycleCase('STOP_REQUESTED', 'the program has run', { applies: ({ firstRanAt }) => firstRanAt !== null }),
  lifecycleCase('STOP_REQUESTED', 'the program has not run', { applies: ({ firstRanAt }) => firstRanAt === null }),
];

/** Every case of every event that the rules distinguish. */
export const LIFECYCLE_CASES: readonly LifecycleCase[] = [
  ...OTHER_CASES.map((each) => restrict(each, (job) => !isStopping(job))),
  ...STOPPING_CASES.map((each) => restrict({ ...each, when: stoppingWhen(each.when) }, isStopping)),
];

function stoppingWhen(when: string): string {
  return when === '' ? 'asked to stop' : `asked to stop, ${when}`;
}

function restrict(each: LifecycleCase, condition: (job: UnfinishedJob) => boolean): LifecycleCase {
  return { ...each, applies: (job, at) => condition(job) && each.applies(job, at) };
}
