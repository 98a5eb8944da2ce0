import type { CauseCode } from '#shared/domain/cause.ts';
import type { Effect } from '#shared/domain/effect.ts';
import {
  isKeeping,
  isPlaced,
  type Job,
  type JobIn,
  replicasOf,
  stateOf,
  type TimestampMs,
  type UnfinishedJob,
} from '#shared/domain/job.ts';
import { hasTooManyUnusedVms } from '#shared/domain/rules/limits.ts';
import { transition } from '#shared/domain/rules/transition.ts';
import {
  DELIVERY_FAILURES_IN_ROW_MAX,
  INTERRUPTIONS_IN_ROW_MAX,
  UNUSED_VMS_PER_REPLICA_MAX,
} from '#shared/domain/timeouts.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import { LIFECYCLE_CASES, type LifecycleCase } from './lifecycle-cases.ts';

/** One row of the transition table. */
export type Decision = {
  readonly from: string;
  readonly lifecycleCase: LifecycleCase;
  readonly to: string;
  readonly isNewAttempt: boolean;
  /** The new state that users see; null if it does not change. */
  readonly shows: string | null;
  readonly effects: readonly Effect['type'][];
};

export type Lifecycle = {
  readonly decisions: readonly Decision[];
  /** Causes that the rules produce themselves, as opposed to those that arrive in an event. */
  readonly ownCauses: ReadonlySet<CauseCode>;
};

type Node = { readonly job: Job; readonly now: TimestampMs };

/** Every status and substatus of a job that the rules distinguish, in the order of the table. */
export const SUBSTATUSES = [
  'QUEUED',
  'QUEUED, backing off',
  'PREPARING, no answer yet',
  'PREPARING, waiting for capacity',
  'PREPARING, VMs created',
  'PREPARING, setting up',
  'PREPARING, failure held',
  'RUNNING',
  'RUNNING, uploading outputs',
  'RUNNING, failure held',
  'RUNNING, stopping early',
  'CLOSING, VM kept',
  ...['CLOSING', 'CLOSED'].flatMap((status) =>
    ['SUCCEEDED', 'FAILED', 'CANCELLED'].map((state) => `${status} as ${state}`),
  ),
] as const;

export function substatusOf(job: Job): string {
  if (isPlaced(job) && job.heldFailure !== null) {
    return `${job.status}, failure held`;
  }
  if (isKeeping(job)) {
    return 'CLOSING, VM kept';
  }
  switch (job.status) {
    case 'QUEUED':
      return job.isBackingOff ? 'QUEUED, backing off' : 'QUEUED';
    case 'PREPARING':
      return substatusOfPreparing(job);
    case 'RUNNING':
      return substatusOfRunning(job);
    default:
      return `${job.status} as ${job.verdict.state}`;
  }
}

function substatusOfPreparing(job: JobIn<'PREPARING'>): string {
  const { instances, reportedAt, pendingUntil, assemblingSince } = job;
  if (instances.length === 0 && assemblingSince !== null) {
    return 'PREPARING, some VMs started';
  }
  if (instances.length === 0) {
    return pendingUntil === null ? 'PREPARING, no answer yet' : 'PREPARING, waiting for capacity';
  }
  return reportedAt === null ? 'PREPARING, VMs created' : 'PREPARING, setting up';
}

function substatusOfRunning({ uploadingAt, stopRequestedAt }: JobIn<'RUNNING'>): string {
  if (stopRequestedAt !== null) {
    return 'RUNNING, stopping early';
  }
  return uploadingAt === null ? 'RUNNING' : 'RUNNING, uploading outputs';
}

/** Reduced to what leads to different outcomes: none, one, several, or the limit. */
function interruptionsOf({ interruptionsInRow }: Job['counts']): number {
  return interruptionsInRow < INTERRUPTIONS_IN_ROW_MAX ? Math.min(interruptionsInRow, 2) : INTERRUPTIONS_IN_ROW_MAX;
}

function pairOf(job: JobIn<'QUEUED'>): JobIn<'QUEUED'> {
  const [master] = job.spec.replicaGroups;
  return { ...job, spec: { ...job.spec, replicaGroups: [master, { ...master, role: 'worker' }] } };
}

/** Jobs with equal keys have equal futures. */
function keyOf(job: Job): string {
  const { counts, spec, firstRanAt } = job;
  return JSON.stringify([
    substatusOf(job),
    spec.limits,
    counts.restarts,
    interruptionsOf(counts),
    counts.bootFailuresInRow,
    counts.deliveryFailuresInRow >= DELIVERY_FAILURES_IN_ROW_MAX - 1,
    hasTooManyUnusedVms(job),
    firstRanAt === null,
    replicasOf(spec).length,
    'reportedAt' in job && job.reportedAt !== null,
    isPlaced(job) && job.heldFailure?.hasMasterSucceeded === true,
    'uploadingAt' in job && job.uploadingAt !== null,
    job.trial === null,
    'kept' in job && job.kept !== null,
  ]);
}

/**
 * Explores every reachable transition of accepted jobs: of one replica and of two, without limits, with restarts, with
 * a maxWaitTime, of a trial, after many interruptions, many dead letters, and many unused VMs. Throws if one case has
 * two outcomes, since the table would then be wrong.
 */
export function exploreLifecycle(): Lifecycle {
  const oftenInterrupted = { ...queuedJob().counts, interruptionsInRow: INTERRUPTIONS_IN_ROW_MAX };
  const queue: Node[] = [
    queuedJob(),
    pairOf(queuedJob()),
    queuedJob({ restartsMax: 1 }),
    pairOf(queuedJob({ restartsMax: 1 })),
    queuedJob({ maxWaitMs: 400_000 }),
    queuedJob({ keepOnFailureMs: 1_800_000 }),
    pairOf(queuedJob({ keepOnFailureMs: 1_800_000 })),
    { ...queuedJob(), trial: { tuningId: 'digits', ordinal: 1, metricIds: ['accuracy'] } },
    { ...queuedJob(), counts: oftenInterrupted },
    { ...pairOf(queuedJob()), counts: oftenInterrupted },
    { ...queuedJob(), counts: { ...queuedJob().counts, deliveryFailuresInRow: DELIVERY_FAILURES_IN_ROW_MAX - 1 } },
    { ...queuedJob(), counts: { ...queuedJob().counts, unusedVms: UNUSED_VMS_PER_REPLICA_MAX } },
  ].map((job) => ({ job, now: 0 }));
  const visited = new Set(queue.map(({ job }) => keyOf(job)));
  const decisions = new Map<string, Decision>();
  const ownCauses = new Set<CauseCode>();

  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    for (const { decision, next, ownCause } of followAll(node)) {
      addDecision(decisions, decision);
      if (ownCause !== null) {
        ownCauses.add(ownCause);
      }
      if (!visited.has(keyOf(next.job))) {
        visited.add(keyOf(next.job));
        queue.push(next);
      }
    }
  }
  return { decisions: [...decisions.values()].sort(byTableOrder), ownCauses };
}

function followAll({ job, now }: Node) {
  if (job.status === 'CLOSED') {
    return [];
  }
  return LIFECYCLE_CASES.flatMap((lifecycleCase) => {
    const at = lifecycleCase.at(job, now);
    return lifecycleCase.applies(job, at) ? (follow(job, lifecycleCase, at) ?? []) : [];
  });
}

function follow(job: UnfinishedJob, lifecycleCase: LifecycleCase, at: TimestampMs) {
  const event = lifecycleCase.event(job, at);
  const { job: next, effects } = transition(job, event);
  if (next === job) {
    return undefined;
  }
  const cause = next.status === 'CLOSING' && job.status !== 'CLOSING' ? next.verdict.cause : null;
  const isFromEvent = cause !== null && JSON.stringify(event).includes(`"${cause.code}"`);
  const isShown = stateOf(next) !== stateOf(job) || next.attempt > job.attempt;
  const decision: Decision = {
    from: substatusOf(job),
    lifecycleCase,
    to: substatusOf(next),
    isNewAttempt: next.attempt > job.attempt,
    shows: stateOf(next) === stateOf(job) ? null : stateOf(next),
    // Updates for a changed reason for waiting are left out of the table; the text above it covers them.
    effects: effects.map(({ type }) => type).filter((type) => type !== 'JOB_UPDATE' || isShown),
  };
  return { decision, next: { job: next, now: at }, ownCause: isFromEvent ? null : (cause?.code ?? null) };
}

function addDecision(decisions: Map<string, Decision>, decision: Decision): void {
  const { from, lifecycleCase } = decision;
  const key = `${from} × ${lifecycleCase.type} (${lifecycleCase.when})`;
  const known = decisions.get(key);
  if (known !== undefined && outcomeOf(known) !== outcomeOf(decision)) {
    throw new Error(
      `${key} has two outcomes: ${outcomeOf(known)} and ${outcomeOf(decision)}. Distinguish them by "when".`,
    );
  }
  decisions.set(key, known ?? decision);
}

function outcomeOf({ to, isNewAttempt, shows, effects }: Decision): string {
  return JSON.stringify({ to, isNewAttempt, shows, effects });
}

function byTableOrder(a: Decision, b: Decision): number {
  const substatuses: readonly string[] = SUBSTATUSES;
  return (
    substatuses.indexOf(a.from) - substatuses.indexOf(b.from) ||
    LIFECYCLE_CASES.indexOf(a.lifecycleCase) - LIFECYCLE_CASES.indexOf(b.lifecycleCase)
  );
}
