import { type Job, type JobIn, MASTER, replicaName, replicasOf } from '#shared/domain/job.ts';
import { ownsReplica } from '#shared/domain/ownership.ts';
import type { Replica } from '#shared/domain/replica.ts';

/** The activity of a replica whose program has not started, by its phase. */
const ACTIVITIES = {
  BOOTING: 'booting',
  DOWNLOADING: 'downloading the package',
  PULLING: 'pulling the image',
  INSTALLING: 'installing packages',
  WAITING: 'about to start',
  RUNNING: null,
  UPLOADING: 'ending without having run its program',
  EXITED: 'ending without having run its program',
} as const satisfies Readonly<Record<Replica['phase'], string | null>>;

const NAMES_MAX = 3;

/** A cluster whose VMs exist, and whose programs have not all started. */
export function isStarting(job: Job): job is JobIn<'PREPARING'> {
  return job.status === 'PREPARING' && job.instances.length > 0 && replicasOf(job.spec).length > 1;
}

/** The activity of a replica whose program has not started; null once it has started, also if it has ended. */
function activityOf(replica: Pick<Replica, 'phase' | 'endedAt'> | undefined): string | null {
  return replica !== undefined && replica.endedAt !== null ? null : ACTIVITIES[replica?.phase ?? 'BOOTING'];
}

/**
 * Whether the replica's program has started: one that has ended has, even if the heartbeat that reported RUNNING was
 * lost.
 */
export function hasStarted(replica: Pick<Replica, 'phase' | 'endedAt'>): boolean {
  return activityOf(replica) === null;
}

/** Whether the master's program has succeeded, so that the others are no longer waited for. */
export function hasMasterSucceeded({ replica, pendingExit }: Replica): boolean {
  return replica === MASTER && pendingExit?.outcome === 'SUCCEEDED';
}

/**
 * Says what the programs of a cluster that have started wait for: `worker-1 is installing packages; master-0 waits`.
 * Null once all have started. `replicas` are records of the job; one without a record is booting.
 */
export function describeStart(job: Job, replicas: readonly Replica[]): string | null {
  const own = new Map(replicas.filter((each) => ownsReplica(job, each)).map((each) => [each.replica, each]));
  const byActivity = Map.groupBy(replicasOf(job.spec).map(replicaName), (name) => activityOf(own.get(name)));
  const unstarted = [...new Set(Object.values(ACTIVITIES))].flatMap((activity) => {
    const names = activity === null ? [] : (byActivity.get(activity) ?? []);
    return names.length === 0 ? [] : [`${listNames(names)} ${names.length === 1 ? 'is' : 'are'} ${activity}`];
  });
  const waiting = byActivity.get(null) ?? [];
  const waits = waiting.length === 0 ? [] : [`${listNames(waiting)} ${waiting.length === 1 ? 'waits' : 'wait'}`];
  return unstarted.length === 0 ? null : [...unstarted, ...waits].join('; ');
}

/** `worker-1`, `worker-1 and worker-2`, or the first three and how many others. */
export function listNames(names: readonly string[]): string {
  const others = names.length - NAMES_MAX;
  const shown = others > 1 ? [...names.slice(0, NAMES_MAX), `${others} others`] : names;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
