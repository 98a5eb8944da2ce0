import {
  type DocumentReference,
  type DocumentSnapshot,
  FieldPath,
  FieldValue,
  type Firestore,
  Timestamp,
} from '@google-cloud/firestore';
import {
  COLLECTIONS,
  EXPIRY_FIELD,
  HANDLED_EVENT_AGE_MS_MAX,
  toDocumentId,
  toOrdinalId,
} from '#infra/google-cloud/firestore/collections.ts';
import { openOutbox } from '#infra/google-cloud/firestore/outbox.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { CommitOutcome } from '#shared/ports/job-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';
import {
  formatStoredTrial,
  formatStoredTuning,
  formatStoredTuningEffect,
  parseStoredTrial,
  parseStoredTuning,
  parseStoredTuningEffect,
} from '#shared/protocol/stored-tuning.ts';
import type { Trial } from '#shared/tuning/trial.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';

type Commit = Parameters<TuningStore['commit']>[0];

/**
 * Tunings in Firestore. One transaction writes the tuning's document, one for each changed trial, the handled event's
 * and one for each outbox entry: with PARALLEL_TRIALS_MAX new trials, 202 documents of a few KB each. Firestore limits
 * a transaction to 10 MiB (docs, "Usage and limits").
 */
export function createFirestoreTuningStore(firestore: Firestore, clock: Clock): TuningStore {
  const documents = documentsOf(firestore);
  return {
    create: (tuning, effects) => create(documents, tuning, effects),
    commit: (change) => commit(documents, change, clock.now() + HANDLED_EVENT_AGE_MS_MAX),
    async read(tuningId) {
      const found = await documents.tuning(tuningId).get();
      return found.exists ? { revision: Number(found.get('revision')), tuning: tuningOf(found) } : undefined;
    },
    listTuningsWithOutbox: documents.outbox.listOwners,
    listOutbox: documents.outbox.list,
    markPublished: documents.outbox.markPublished,
    async readTrial(tuningId, ordinal) {
      const found = await documents.trials(tuningId).doc(toOrdinalId(ordinal)).get();
      return found.exists ? trialOf(found) : undefined;
    },
    async listTrials(tuningId, { afterOrdinal, countMax }) {
      const page = documents
        .trials(tuningId)
        .orderBy(FieldPath.documentId())
        .startAfter(toOrdinalId(afterOrdinal))
        .limit(countMax);
      return parseEach((await page.get()).docs, trialOf);
    },
    ...createLists(documents),
  };
}

function createLists({ tunings }: Documents): Pick<TuningStore, 'listDue' | 'list'> {
  return {
    async listDue(now, countMax) {
      const found = await tunings
        .where('wakeAt', '<=', now)
        .orderBy('wakeAt')
        .limit(countMax)
        .select('tuningId', 'wakeAt')
        .get();
      return found.docs.map((document) => ({
        tuningId: String(document.get('tuningId')),
        wakeAt: Number(document.get('wakeAt')),
      }));
    },
    async list({ countMax, after }) {
      const newest = tunings.orderBy('createdAt', 'desc').orderBy('tuningId').limit(countMax);
      const page = after === undefined ? newest : newest.startAfter(after.createdAt, after.jobId);
      return parseEach((await page.get()).docs, tuningOf);
    },
  };
}

function documentsOf(firestore: Firestore) {
  const tunings = firestore.collection(COLLECTIONS.tunings);
  const outbox = openOutbox({
    collection: firestore.collection(COLLECTIONS.tuningOutbox),
    ownerField: 'tuningId',
    timeField: 'addedAt',
    format: formatStoredTuningEffect,
    parse: parseStoredTuningEffect,
  });
  const tuning = (tuningId: string) => tunings.doc(toDocumentId(tuningId));
  const jobs = firestore.collection(COLLECTIONS.jobs);
  return {
    firestore,
    tunings,
    outbox,
    tuning,
    /** No job may have the id of a tuning: users know both by one kind of id. */
    job: (jobId: string) => jobs.doc(toDocumentId(jobId)),
    trials: (tuningId: string) => tuning(tuningId).collection(COLLECTIONS.trials),
    handled: (tuningId: string, eventId: string) =>
      tuning(tuningId).collection(COLLECTIONS.handledEvents).doc(toDocumentId(eventId)),
  };
}

type Documents = ReturnType<typeof documentsOf>;

async function create(
  documents: Documents,
  tuning: Tuning,
  effects: readonly TuningEffect[],
): Promise<'CREATED' | 'EXISTS'> {
  const document = documents.tuning(tuning.tuningId);
  return documents.firestore.runTransaction(async (transaction) => {
    const found = await transaction.getAll(document, documents.job(tuning.tuningId));
    if (found.some(({ exists }) => exists)) {
      return 'EXISTS';
    }
    transaction.create(document, toDocument(tuning, 1));
    documents.outbox.add(transaction, tuning.tuningId, { cause: 'created', effects });
    return 'CREATED';
  });
}

async function commit(
  documents: Documents,
  { expectedRevision, eventId, tuning, trials, effects }: Commit,
  expireAt: number,
): Promise<CommitOutcome> {
  const tuningDocument = documents.tuning(tuning.tuningId);
  const handled = documents.handled(tuning.tuningId, eventId);
  return documents.firestore.runTransaction(async (transaction) => {
    const [storedEvent, storedTuning] = await transaction.getAll(handled, tuningDocument);
    if (storedEvent?.exists) {
      return 'DUPLICATE';
    }
    if (storedTuning?.get('revision') !== expectedRevision) {
      return 'STALE';
    }
    transaction.set(tuningDocument, toDocument(tuning, expectedRevision + 1));
    for (const trial of trials) {
      const document = documents.trials(trial.tuningId).doc(toOrdinalId(trial.ordinal));
      transaction.set(document, { body: formatStoredTrial(trial) });
    }
    transaction.create(handled, { [EXPIRY_FIELD]: Timestamp.fromMillis(expireAt) });
    documents.outbox.add(transaction, tuning.tuningId, { cause: eventId, effects });
    return 'COMMITTED';
  });
}

/** Fields that are queried are stored beside the record. A closed tuning has no `wakeAt`, so it is never due. */
function toDocument(tuning: Tuning, revision: number): Parameters<DocumentReference['set']>[0] {
  const { tuningId, createdAt } = tuning;
  const wakeAt = tuning.status === 'CLOSED' ? null : tuning.wakeAt;
  const changedAt = FieldValue.serverTimestamp();
  return { tuningId, createdAt, wakeAt, revision, changedAt, body: formatStoredTuning(tuning) };
}

function tuningOf(document: DocumentSnapshot): Tuning {
  return parseStoredTuning(String(document.get('body')));
}

function trialOf(document: DocumentSnapshot): Trial {
  return parseStoredTrial(String(document.get('body')));
}
