import {
  type DocumentData,
  type DocumentSnapshot,
  FieldValue,
  type Firestore,
  Timestamp,
  type Transaction,
} from '@google-cloud/firestore';
import {
  COLLECTIONS,
  EXPIRY_FIELD,
  HANDLED_EVENT_AGE_MS_MAX,
  toDocumentId,
} from '#infra/google-cloud/firestore/collections.ts';
import {
  type Change,
  type CommitOutcome,
  type MachineRecord,
  type RecordForm,
  type RecordStore,
  wakeAtOf,
} from '#shared/machine/record-store.ts';
import type { Clock } from '#shared/ports/clock.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';

export type FirestoreRecords<Item, Effect, Facts> = {
  readonly form: RecordForm<Item, Effect>;
  readonly collection: string;
  /** The collections of records that share their ids with this kind: an id is taken by one of all. */
  readonly sharesIdsWith: readonly string[];
  /** The collection of outbox entries, and their field with the time of the commit. */
  readonly outbox: { readonly collection: string; readonly timeField: string };
  /** Fields of the document beside those that every record has; only a record with `createdAt` is listed. */
  readonly fieldsOf: (record: Item) => DocumentData;
  /** Writes the further facts of a commit; returns more fields of the document, or why nothing may be committed. */
  readonly commitFacts: (
    commit: { readonly transaction: Transaction; readonly stored: DocumentSnapshot },
    change: Change<Item, Effect> & Facts,
  ) => Promise<DocumentData | Extract<CommitOutcome, 'OVER_LIMIT'>>;
};

type Connection = { readonly firestore: Firestore; readonly clock: Clock };

/**
 * Records in Firestore. One transaction writes the record's document, the handled event's and one for each outbox
 * entry. The record itself is JSON in one field, so that it is read back exactly as written; fields that are queried
 * are stored beside it.
 */
export function createFirestoreRecordStore<Item extends MachineRecord, Effect, Facts>(
  connection: Connection,
  records: FirestoreRecords<Item, Effect, Facts>,
): RecordStore<Item, Effect, Facts> {
  const { idField, parse } = records.form;
  const collection = connection.firestore.collection(records.collection);
  const outbox = openOutbox(connection.firestore, records);
  const recordOf = (document: DocumentSnapshot) => parse(String(document.get('body')));
  return {
    ...createWrites(connection, records, outbox),
    async read(id) {
      const found = await collection.doc(toDocumentId(id)).get();
      return found.exists ? { revision: Number(found.get('revision')), record: recordOf(found) } : undefined;
    },
    async listDue(now, countMax) {
      const due = collection.where('wakeAt', '<=', now).orderBy('wakeAt').limit(countMax).select(idField, 'wakeAt');
      const { docs } = await due.get();
      return docs.map((found) => ({ id: String(found.get(idField)), wakeAt: Number(found.get('wakeAt')) }));
    },
    listWithOutbox: outbox.listWithOutbox,
    listOutbox: outbox.listOutbox,
    markPublished: outbox.markPublished,
    async list({ countMax, after }) {
      const newest = collection.orderBy('createdAt', 'desc').orderBy(idField).limit(countMax);
      const page = after === undefined ? newest : newest.startAfter(after.createdAt, after.id);
      return parseEach((await page.get()).docs, recordOf);
    },
  };
}

function createWrites<Item extends MachineRecord, Effect, Facts>(
  { firestore, clock }: Connection,
  { form: { idField }, collection, sharesIdsWith, fieldsOf, commitFacts }: FirestoreRecords<Item, Effect, Facts>,
  outbox: Outbox<Effect>,
): Pick<RecordStore<Item, Effect, Facts>, 'create' | 'commit'> {
  const idOf = (record: Item) => String(record[idField]);
  const documentIn = (name: string, record: Item) => firestore.collection(name).doc(toDocumentId(idOf(record)));

  function toDocument(record: Item, revision: number): DocumentData {
    const stored = { changedAt: FieldValue.serverTimestamp(), body: JSON.stringify(record) };
    return { [idField]: idOf(record), wakeAt: wakeAtOf(record), revision, ...stored, ...fieldsOf(record) };
  }

  return {
    create: (record, effects) =>
      firestore.runTransaction(async (transaction) => {
        const document = documentIn(collection, record);
        const others = sharesIdsWith.map((name) => documentIn(name, record));
        const found = await transaction.getAll(document, ...others);
        if (found.some(({ exists }) => exists)) {
          return 'EXISTS';
        }
        transaction.create(document, toDocument(record, 1));
        outbox.add(transaction, idOf(record), { cause: 'created', effects });
        return 'CREATED';
      }),
    async commit(change) {
      const { expectedRevision, eventId, record, effects } = change;
      const document = documentIn(collection, record);
      const handled = document.collection(COLLECTIONS.handledEvents).doc(toDocumentId(eventId));
      const expireAt = Timestamp.fromMillis(clock.now() + HANDLED_EVENT_AGE_MS_MAX);
      return firestore.runTransaction(async (transaction) => {
        const [storedEvent, stored] = await transaction.getAll(handled, document);
        if (storedEvent?.exists) {
          return 'DUPLICATE';
        }
        if (stored?.get('revision') !== expectedRevision) {
          return 'STALE';
        }
        const fields = await commitFacts({ transaction, stored }, change);
        if (fields === 'OVER_LIMIT') {
          return fields;
        }
        transaction.set(document, { ...toDocument(record, expectedRevision + 1), ...fields });
        transaction.create(handled, { [EXPIRY_FIELD]: expireAt });
        outbox.add(transaction, idOf(record), { cause: eventId, effects });
        return 'COMMITTED';
      });
    },
  };
}

type Outbox<Effect> = Pick<RecordStore<unknown, Effect>, 'listOutbox' | 'listWithOutbox' | 'markPublished'> & {
  /** Adds the effects of one commit; `cause` makes the ids of its entries unique. */
  add(
    transaction: Transaction,
    id: string,
    commit: { readonly cause: string; readonly effects: readonly Effect[] },
  ): void;
};

/** An outbox with one document for each effect. Entries of one commit have the same time and are ordered by position. */
function openOutbox<Item, Effect, Facts>(
  firestore: Firestore,
  { form: { idField, parseEffect }, outbox: { collection: name, timeField } }: FirestoreRecords<Item, Effect, Facts>,
): Outbox<Effect> {
  const collection = firestore.collection(name);
  const documentOf = (id: string, entryId: string) => collection.doc(toDocumentId(`${id}/${entryId}`));
  return {
    add(transaction, id, { cause, effects }) {
      for (const [position, effect] of effects.entries()) {
        const entryId = `${cause}/${position}`;
        const time = { [timeField]: FieldValue.serverTimestamp() };
        const entry = { [idField]: id, entryId, position, ...time, effect: JSON.stringify(effect) };
        transaction.create(documentOf(id, entryId), entry);
      }
    },
    async listWithOutbox(countMax) {
      const oldest = collection.orderBy(timeField).orderBy('position').limit(countMax).select(idField);
      return [...new Set((await oldest.get()).docs.map((found) => String(found.get(idField))))];
    },
    async listOutbox(id) {
      const found = await collection.where(idField, '==', id).orderBy(timeField).orderBy('position').get();
      return found.docs.map((entry) => ({
        entryId: String(entry.get('entryId')),
        effect: parseEffect(String(entry.get('effect'))),
      }));
    },
    async markPublished(id, entryId) {
      await documentOf(id, entryId).delete();
    },
  };
}
