import { type DocumentSnapshot, FieldPath, type Firestore } from '@google-cloud/firestore';
import { COLLECTIONS, toDocumentId, toOrdinalId } from '#infra/google-cloud/firestore/collections.ts';
import { createFirestoreRecordStore } from '#infra/google-cloud/firestore/firestore-record-store.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { TuningFacts, TuningStore } from '#shared/ports/tuning-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';
import { parseStoredTrial, TUNING_FORM } from '#shared/protocol/stored-tuning.ts';
import type { Trial } from '#shared/tuning/trial.ts';

/**
 * Tunings in Firestore, with one document for each of their trials. A commit with PARALLEL_TRIALS_MAX new trials writes
 * 202 documents of a few KB each. Firestore limits a transaction to 10 MiB (docs, "Usage and limits").
 */
export function createFirestoreTuningStore(firestore: Firestore, clock: Clock): TuningStore {
  const trialsOf = (tuningId: string) =>
    firestore.collection(COLLECTIONS.tunings).doc(toDocumentId(tuningId)).collection(COLLECTIONS.trials);
  const records = createFirestoreRecordStore(
    { firestore, clock },
    {
      form: TUNING_FORM,
      collection: COLLECTIONS.tunings,
      sharesIdsWith: [COLLECTIONS.jobs],
      outbox: { collection: COLLECTIONS.tuningOutbox, timeField: 'addedAt' },
      fieldsOf: ({ createdAt }) => ({ createdAt }),
      async commitFacts({ transaction }, { trials }: TuningFacts) {
        for (const trial of trials) {
          const document = trialsOf(trial.tuningId).doc(toOrdinalId(trial.ordinal));
          transaction.set(document, { body: JSON.stringify(trial) });
        }
        return {};
      },
    },
  );
  return {
    ...records,
    async readTrial(tuningId, ordinal) {
      const found = await trialsOf(tuningId).doc(toOrdinalId(ordinal)).get();
      return found.exists ? trialOf(found) : undefined;
    },
    async listTrials(tuningId, { afterOrdinal, countMax }) {
      const { docs } = await trialsOf(tuningId)
        .orderBy(FieldPath.documentId())
        .startAfter(toOrdinalId(afterOrdinal))
        .limit(countMax)
        .get();
      return parseEach(docs, trialOf);
    },
  };
}

function trialOf(document: DocumentSnapshot): Trial {
  return parseStoredTrial(String(document.get('body')));
}
