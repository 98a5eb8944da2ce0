import { type DocumentSnapshot, type Firestore, type Query, Timestamp } from '@google-cloud/firestore';
import { COLLECTIONS, toDocumentId } from '#infra/google-cloud/firestore/collections.ts';
import { CHANGES_MAX, type Change, type ChangeFeed } from '#shared/ports/change-feed.ts';
import type { Clock } from '#shared/ports/clock.ts';

/** While something changes, and after it; VMs send a heartbeat every 20 s. */
export const ACTIVE_POLL_MS = 5_000;
export const IDLE_POLL_MS = 15_000;
const ACTIVE_MS = 120_000;

/**
 * A commit gets its time from Firestore when it is requested, and is visible some time later. Each query therefore
 * starts this long before the previous one.
 */
const OVERLAP_MS = 10_000;
/** Heartbeats get their time from a function. One that is missed is followed by another. */
const HEARTBEAT_OVERLAP_MS = 2_000;

/** After a longer pause, reading the changes can cost as much as reading everything. */
const MARKER_AGE_MS_MAX = 3_600_000;

/** When each collection was queried last, and the last change was found. */
type Position = {
  readonly jobs: number;
  readonly tunings: number;
  readonly heartbeats: number;
  readonly changed: number;
};

/** The feed of a database. `databaseName` distinguishes its markers from those of other databases. */
export function createFirestoreChangeFeed(firestore: Firestore, databaseName: string, clock: Clock): ChangeFeed {
  const queries = queriesOf(firestore);
  return {
    async list({ marker, jobId }) {
      const now = clock.now();
      const position = readMarker(marker, { databaseName, now });
      if (position === undefined) {
        const start = { jobs: now, tunings: now, heartbeats: now, changed: now };
        return { changes: [], isEverything: true, ...answerAfter(databaseName, start, now) };
      }
      const found = jobId === undefined ? await listAll(queries, position) : await listOfJob(queries, position, jobId);
      const changed = found.changes.length > 0 ? now : position.changed;
      const isEverything = found.changes.length > CHANGES_MAX;
      const asked = Object.fromEntries(found.asked.map((collection) => [collection, now]));
      const next = answerAfter(databaseName, { ...position, ...asked, changed }, now);
      return { changes: isEverything ? [] : found.changes, isEverything, ...next };
    },
  };
}

function queriesOf(firestore: Firestore) {
  const [jobs, tunings, replicas] = [
    firestore.collection(COLLECTIONS.jobs),
    firestore.collection(COLLECTIONS.tunings),
    firestore.collection(COLLECTIONS.replicas),
  ];
  const since = (ms: number) => Timestamp.fromMillis(ms - OVERLAP_MS);
  return {
    jobs: (ms: number) => changesOf(jobs.where('changedAt', '>', since(ms)).orderBy('changedAt'), recordOf),
    tunings: (ms: number) => changesOf(tunings.where('changedAt', '>', since(ms)).orderBy('changedAt'), recordOf),
    heartbeats: (ms: number) =>
      changesOf(replicas.where('heardAt', '>', ms - HEARTBEAT_OVERLAP_MS).orderBy('heardAt'), heartbeatOf),
    async heartbeatsOfJob(jobId: string, ms: number) {
      const own = replicas.where('jobId', '==', jobId).where('heardAt', '>', ms - HEARTBEAT_OVERLAP_MS);
      return (await own.orderBy('heardAt', 'desc').limit(1).get()).docs.map(heartbeatOf);
    },
    async record(collection: 'jobs' | 'tunings', id: string) {
      return (collection === 'jobs' ? jobs : tunings).doc(toDocumentId(id)).get();
    },
  };
}

type Queries = ReturnType<typeof queriesOf>;
type Found = { readonly changes: readonly Change[]; readonly asked: readonly (keyof Position)[] };

async function changesOf(query: Query, toChange: (document: DocumentSnapshot) => Change): Promise<readonly Change[]> {
  const fields = ['jobId', 'tuningId', 'revision', 'heardAt'];
  return (
    await query
      .limit(CHANGES_MAX + 1)
      .select(...fields)
      .get()
  ).docs.map(toChange);
}

function recordOf(document: DocumentSnapshot): Change {
  const jobId = String(document.get('jobId') ?? document.get('tuningId'));
  return { jobId, kind: 'RECORD', version: String(document.get('revision')) };
}

function heartbeatOf(document: DocumentSnapshot): Change {
  return { jobId: String(document.get('jobId')), kind: 'HEARTBEAT', version: String(document.get('heardAt')) };
}

/** Queries jobs, and alternately tunings and heartbeats. A query that finds nothing costs one read. */
async function listAll(queries: Queries, position: Position): Promise<Found> {
  const other = position.tunings <= position.heartbeats ? 'tunings' : 'heartbeats';
  const found = await Promise.all([queries.jobs(position.jobs), queries[other](position[other])]);
  return { changes: found.flat(), asked: ['jobs', other] };
}

/** Two reads: the job and its newest heartbeat, or a job that does not exist and the tuning. */
async function listOfJob(queries: Queries, position: Position, jobId: string): Promise<Found> {
  const asked = ['jobs', 'tunings', 'heartbeats'] as const;
  const job = await queries.record('jobs', jobId);
  const record = job.exists ? job : await queries.record('tunings', jobId);
  const heartbeats = job.exists ? await queries.heartbeatsOfJob(jobId, position.heartbeats) : [];
  const changedAt = record.get('changedAt');
  const isChanged = changedAt instanceof Timestamp && changedAt.toMillis() > position.jobs - OVERLAP_MS;
  return { changes: isChanged ? [recordOf(record), ...heartbeats] : heartbeats, asked };
}

function answerAfter(databaseName: string, { jobs, tunings, heartbeats, changed }: Position, now: number) {
  return {
    marker: [databaseName, jobs, tunings, heartbeats, changed].join('.'),
    pollAfterMs: now - changed < ACTIVE_MS ? ACTIVE_POLL_MS : IDLE_POLL_MS,
  };
}

/**
 * The position of a marker; undefined if it is not one of this database, too old, or from a time that no clock of a
 * function has had yet.
 */
function readMarker(
  marker: string | undefined,
  { databaseName, now }: { readonly databaseName: string; readonly now: number },
): Position | undefined {
  if (marker?.startsWith(`${databaseName}.`) !== true) {
    return undefined;
  }
  const numbers = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/.exec(marker.slice(databaseName.length + 1));
  const [jobs = 0, tunings = 0, heartbeats = 0, changed = 0] = numbers?.slice(1).map(Number) ?? [];
  const [oldest, newest] = [Math.min(jobs, tunings, heartbeats), Math.max(jobs, tunings, heartbeats, changed)];
  const isUsable = now - oldest <= MARKER_AGE_MS_MAX && newest - now <= OVERLAP_MS;
  return isUsable ? { jobs, tunings, heartbeats, changed } : undefined;
}
