import {
  type DocumentReference,
  type DocumentSnapshot,
  FieldValue,
  type Firestore,
  Timestamp,
} from '@google-cloud/firestore';
import {
  COLLECTIONS,
  EXPIRY_FIELD,
  HANDLED_EVENT_AGE_MS_MAX,
  toDocumentId,
} from '#infra/google-cloud/firestore/collections.ts';
import { openOutbox } from '#infra/google-cloud/firestore/outbox.ts';
import type { Effect } from '#shared/domain/effect.ts';
import type { Job } from '#shared/domain/job.ts';
import { addUsage, findExceeded, type VmUsage } from '#shared/domain/vm-limits.ts';
import { isWaiting, orderKeyOf } from '#shared/domain/waiting-order.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { CommitOutcome, JobStore } from '#shared/ports/job-store.ts';
import {
  formatStoredEffect,
  formatStoredJob,
  parseEach,
  parseStoredEffect,
  parseStoredJob,
} from '#shared/protocol/stored-record.ts';

type Commit = Parameters<JobStore['commit']>[0];

/**
 * Jobs in Firestore. One transaction writes the job's document, the handled event's and one for each outbox entry. The
 * record itself is JSON in one field, so that it is read back exactly as written.
 */
export function createFirestoreJobStore(firestore: Firestore, clock: Clock): JobStore {
  const documents = documentsOf(firestore);
  return {
    create: (job, effects) => create(documents, job, effects),
    commit: (change) => commit(documents, change, clock.now() + HANDLED_EVENT_AGE_MS_MAX),
    async read(jobId) {
      const found = await documents.job(jobId).get();
      return found.exists ? { revision: Number(found.get('revision')), job: jobOf(found) } : undefined;
    },
    readUsage: async () => toUsage(await documents.usage.get()),
    listJobsWithOutbox: documents.outbox.listOwners,
    listOutbox: documents.outbox.list,
    markPublished: documents.outbox.markPublished,
    ...createLists(documents),
  };
}

function createLists({ jobs }: Documents): Pick<JobStore, 'listDue' | 'listWaiting' | 'list'> {
  return {
    async listDue(now, countMax) {
      const found = await jobs
        .where('wakeAt', '<=', now)
        .orderBy('wakeAt')
        .limit(countMax)
        .select('jobId', 'wakeAt')
        .get();
      return found.docs.map((document) => ({
        jobId: String(document.get('jobId')),
        wakeAt: Number(document.get('wakeAt')),
      }));
    },
    async listWaiting(countMax) {
      const found = await jobs.orderBy('orderKey').limit(countMax).get();
      return parseEach(found.docs, jobOf).filter(isWaiting);
    },
    async list({ countMax, after }) {
      const newest = jobs.orderBy('createdAt', 'desc').orderBy('jobId').limit(countMax);
      const page = after === undefined ? newest : newest.startAfter(after.createdAt, after.jobId);
      return parseEach((await page.get()).docs, jobOf);
    },
  };
}

function documentsOf(firestore: Firestore) {
  const jobs = firestore.collection(COLLECTIONS.jobs);
  const outbox = openOutbox({
    collection: firestore.collection(COLLECTIONS.outbox),
    ownerField: 'jobId',
    timeField: 'owedAt',
    format: formatStoredEffect,
    parse: parseStoredEffect,
  });
  const job = (jobId: string) => jobs.doc(toDocumentId(jobId));
  const tunings = firestore.collection(COLLECTIONS.tunings);
  return {
    firestore,
    jobs,
    usage: firestore.collection(COLLECTIONS.usage).doc('vms'),
    outbox,
    job,
    /** No tuning may have the id of a job: users know both by one kind of id. */
    tuning: (tuningId: string) => tunings.doc(toDocumentId(tuningId)),
    handled: (jobId: string, eventId: string) =>
      job(jobId).collection(COLLECTIONS.handledEvents).doc(toDocumentId(eventId)),
  };
}

type Documents = ReturnType<typeof documentsOf>;

async function create(documents: Documents, job: Job, effects: readonly Effect[]): Promise<'CREATED' | 'EXISTS'> {
  const document = documents.job(job.jobId);
  return documents.firestore.runTransaction(async (transaction) => {
    const found = await transaction.getAll(document, documents.tuning(job.jobId));
    if (found.some(({ exists }) => exists)) {
      return 'EXISTS';
    }
    transaction.create(document, toDocument(job, 1));
    documents.outbox.add(transaction, job.jobId, { cause: 'created', effects });
    return 'CREATED';
  });
}

async function commit(
  documents: Documents,
  { expectedRevision, eventId, job, effects, usage, limits }: Commit,
  expireAt: number,
): Promise<CommitOutcome> {
  const jobDocument = documents.job(job.jobId);
  const handled = documents.handled(job.jobId, eventId);
  return documents.firestore.runTransaction(async (transaction) => {
    const [storedEvent, storedJob] = await transaction.getAll(handled, jobDocument);
    const added = addUsage(usage ?? toUsage(storedJob), toUsage(storedJob), -1);
    if (storedEvent?.exists) {
      return 'DUPLICATE';
    }
    if (storedJob?.get('revision') !== expectedRevision) {
      return 'STALE';
    }
    if (limits !== undefined && added.vms > 0) {
      // Read last, and only by what adds VMs: the document is locked until the transaction ends.
      const used = toUsage(await transaction.get(documents.usage));
      if (findExceeded(addUsage(used, added), limits) !== null) {
        return 'OVER_LIMIT';
      }
    }
    if (Object.values(added).some((amount) => amount !== 0)) {
      const change = Object.entries(added).map(([key, amount]) => [key, FieldValue.increment(amount)]);
      transaction.set(documents.usage, Object.fromEntries(change), { merge: true });
    }
    transaction.set(jobDocument, { ...toDocument(job, expectedRevision + 1), ...(usage ?? toUsage(storedJob)) });
    transaction.create(handled, { [EXPIRY_FIELD]: Timestamp.fromMillis(expireAt) });
    documents.outbox.add(transaction, job.jobId, { cause: eventId, effects });
    return 'COMMITTED';
  });
}

/**
 * Fields that are queried are stored beside the record. A closed job has no `wakeAt`, so it is never due; the job of a
 * trial has no `createdAt`, so it is not listed; only a waiting job has an `orderKey`.
 */
function toDocument(job: Job, revision: number): Parameters<DocumentReference['set']>[0] {
  const { jobId, status } = job;
  const wakeAt = job.status === 'CLOSED' ? null : job.wakeAt;
  const listed = job.trial === null ? { createdAt: job.createdAt } : {};
  const waiting = isWaiting(job) ? { orderKey: orderKeyOf(job) } : {};
  const changedAt = FieldValue.serverTimestamp();
  return { jobId, status, ...listed, ...waiting, wakeAt, revision, changedAt, body: formatStoredJob(job) };
}

/** Reads the usage of a job, or of all jobs together; a document of the version before counts as zero. */
function toUsage(document: DocumentSnapshot | undefined): VmUsage {
  const numberAt = (key: keyof VmUsage) => Number(document?.get(key) ?? 0);
  return { vms: numberAt('vms'), microUsdPerHour: numberAt('microUsdPerHour'), unpricedVms: numberAt('unpricedVms') };
}

function jobOf(document: DocumentSnapshot): Job {
  return parseStoredJob(String(document.get('body')));
}
