import type { CauseCode } from '#shared/domain/cause.ts';
import type { Effect } from '#shared/domain/event.ts';
import { type Job, type JobIn, replicasOf, stateOf, type TimestampMs, type UnfinishedJob } from '#shared/domain/job.ts';
import { DELIVERY_FAILURES_IN_ROW_MAX, INTERRUPTIONS_IN_ROW_MAX } from '#shared/domain/timeouts.ts';
import { transition } from '#shared/domain/transition.ts';
import { queuedJob } from '../support/domain/example-job.ts';
import { HAPPENINGS, type Happening } from './lifecycle-happenings.ts';

/** One line of the decision table. */
export type Decision = {
  readonly from: string;
  readonly happening: Happening;
  readonly to: string;
  readonly isNewAttempt: boolean;
  /** The state that users see from now on; null where they see what they saw before. */
  readonly shows: string | null;
  readonly effects: readonly Effect['type'][];
};

export type Lifecycle = {
  readonly decisions: readonly Decision[];
  /** The causes that the rules themselves find, rather than being told them by an event. */
  readonly ownCauses: ReadonlySet<CauseCode>;
};

type Node = { readonly job: Job; readonly now: TimestampMs };

/** What a job can be at, as far as the rules tell; the order is the order of the table. */
export const SITUATIONS = [
  'QUEUED',
  'QUEUED, backing off',
  'PREPARING, no answer yet',
  'PREPARING, waiting for capacity',
  'PREPARING, VMs created',
  'PREPARING, setting up',
  'RUNNING',
  'RUNNING, saving',
  ...['CLOSING', 'CLOSED'].flatMap((status) =>
    ['SUCCEEDED', 'FAILED', 'CANCELLED'].map((state) => `${status} as ${state}`),
  ),
] as const;

export function situationOf(job: Job): string {
  switch (job.status) {
    case 'QUEUED':
      return job.isBackingOff ? 'QUEUED, backing off' : 'QUEUED';
    case 'PREPARING':
      return situationOfPreparing(job);
    case 'RUNNING':
      return job.uploadingAt === null ? 'RUNNING' : 'RUNNING, saving';
    default:
      return `${job.status} as ${job.verdict.state}`;
  }
}

function situationOfPreparing({ instances, reportedAt, pendingUntil }: JobIn<'PREPARING'>): string {
  if (instances.length === 0) {
    return pendingUntil === null ? 'PREPARING, no answer yet' : 'PREPARING, waiting for capacity';
  }
  return reportedAt === null ? 'PREPARING, VMs created' : 'PREPARING, setting up';
}

/** As many as tell outcomes apart: none, one, several, and the most that are allowed. */
function interruptionsOf({ interruptionsInRow }: Job['counts']): number {
  return interruptionsInRow < INTERRUPTIONS_IN_ROW_MAX ? Math.min(interruptionsInRow, 2) : INTERRUPTIONS_IN_ROW_MAX;
}

function pairOf(job: JobIn<'QUEUED'>): JobIn<'QUEUED'> {
  const [master] = job.spec.replicaGroups;
  return { ...job, spec: { ...job.spec, replicaGroups: [master, { ...master, role: 'worker' }] } };
}

/** Jobs that are equal by this can only have equal lives. */
function keyOf(job: Job): string {
  const { counts, spec, firstRanAt } = job;
  return JSON.stringify([
    situationOf(job),
    spec.limits,
    counts.restarts,
    interruptionsOf(counts),
    counts.bootFailuresInRow,
    counts.givenUpInRow >= DELIVERY_FAILURES_IN_ROW_MAX - 1,
    firstRanAt === null,
    replicasOf(spec).length,
    'reportedAt' in job && job.reportedAt !== null,
  ]);
}

/**
 * Follows accepted jobs, of one machine and of two, without limits, with restarts, with a maxWaitTime, after many
 * interruptions and after many messages that were given up, through everything that can happen to them. Throws when the
 * circumstances of one happening do not tell two outcomes apart: the table would not be true.
 */
export function exploreLifecycle(): Lifecycle {
  const weary = { ...queuedJob().counts, interruptionsInRow: INTERRUPTIONS_IN_ROW_MAX };
  const queue: Node[] = [
    queuedJob(),
    pairOf(queuedJob()),
    queuedJob({ restartsMax: 1 }),
    queuedJob({ maxWaitMs: 400_000 }),
    { ...queuedJob(), counts: weary },
    { ...pairOf(queuedJob()), counts: weary },
    { ...queuedJob(), counts: { ...queuedJob().counts, givenUpInRow: DELIVERY_FAILURES_IN_ROW_MAX - 1 } },
  ].map((job) => ({ job, now: 0 }));
  const met = new Set(queue.map(({ job }) => keyOf(job)));
  const decisions = new Map<string, Decision>();
  const ownCauses = new Set<CauseCode>();

  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    for (const { decision, next, ownCause } of followAll(node)) {
      addDecision(decisions, decision);
      if (ownCause !== null) {
        ownCauses.add(ownCause);
      }
      if (!met.has(keyOf(next.job))) {
        met.add(keyOf(next.job));
        queue.push(next);
      }
    }
  }
  return { decisions: [...decisions.values()].sort(byPlaceInTable), ownCauses };
}

function followAll({ job, now }: Node) {
  if (job.status === 'CLOSED') {
    return [];
  }
  return HAPPENINGS.flatMap((happening) => {
    const at = happening.at(job, now);
    return happening.applies(job, at) ? (follow(job, happening, at) ?? []) : [];
  });
}

function follow(job: UnfinishedJob, happening: Happening, at: TimestampMs) {
  const event = happening.event(job, at);
  const { job: next, effects } = transition(job, event);
  if (next === job) {
    return undefined;
  }
  const cause = next.status === 'CLOSING' && job.status !== 'CLOSING' ? next.verdict.cause : null;
  const isTold = cause !== null && JSON.stringify(event).includes(`"${cause.code}"`);
  const isShown = stateOf(next) !== stateOf(job) || next.attempt > job.attempt;
  const decision: Decision = {
    from: situationOf(job),
    happening,
    to: situationOf(next),
    isNewAttempt: next.attempt > job.attempt,
    shows: stateOf(next) === stateOf(job) ? null : stateOf(next),
    // Whether a job waited for the same before is no matter of the table, which says so below it.
    effects: effects.map(({ type }) => type).filter((type) => type !== 'JOB_UPDATE' || isShown),
  };
  return { decision, next: { job: next, now: at }, ownCause: isTold ? null : (cause?.code ?? null) };
}

function addDecision(decisions: Map<string, Decision>, decision: Decision): void {
  const { from, happening } = decision;
  const key = `${from} × ${happening.type} (${happening.when})`;
  const known = decisions.get(key);
  if (known !== undefined && outcomeOf(known) !== outcomeOf(decision)) {
    throw new Error(
      `${key} has two outcomes: ${outcomeOf(known)} and ${outcomeOf(decision)}. Tell them apart by "when".`,
    );
  }
  decisions.set(key, known ?? decision);
}

function outcomeOf({ to, isNewAttempt, shows, effects }: Decision): string {
  return JSON.stringify({ to, isNewAttempt, shows, effects });
}

function byPlaceInTable(a: Decision, b: Decision): number {
  const situations: readonly string[] = SITUATIONS;
  return (
    situations.indexOf(a.from) - situations.indexOf(b.from) ||
    HAPPENINGS.indexOf(a.happening) - HAPPENINGS.indexOf(b.happening)
  );
}
