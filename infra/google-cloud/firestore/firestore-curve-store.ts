import { type DocumentSnapshot, type Firestore, Timestamp } from '@google-cloud/firestore';
import {
  COLLECTIONS,
  CURVE_AGE_MS_MAX,
  EXPIRY_FIELD,
  toDocumentId,
  toOrdinalId,
} from '#infra/google-cloud/firestore/collections.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { CurveStore } from '#shared/ports/tuning-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';
import { findCurveConflict, parseStoredCurve } from '#shared/protocol/stored-tuning.ts';
import type { Curve } from '#shared/tuning/trial.ts';

/** The reports of trials, one document per trial, below the document of its tuning. */
export function createFirestoreCurveStore(firestore: Firestore, clock: Clock): CurveStore {
  const curves = (tuningId: string) =>
    firestore.collection(COLLECTIONS.tunings).doc(toDocumentId(tuningId)).collection(COLLECTIONS.curves);
  const documentOf = (tuningId: string, ordinal: number) => curves(tuningId).doc(toOrdinalId(ordinal));

  return {
    async read(tuningId, ordinal) {
      const found = await documentOf(tuningId, ordinal).get();
      return found.exists ? curveOf(found) : undefined;
    },
    async write(curve, replaced) {
      const document = documentOf(curve.tuningId, curve.ordinal);
      const expireAt = Timestamp.fromMillis(clock.now() + CURVE_AGE_MS_MAX);
      return firestore.runTransaction(async (transaction) => {
        const found = await transaction.get(document);
        const stored = found.exists ? curveOf(found) : undefined;
        const conflict = findCurveConflict(curve, { stored, replaced });
        if (conflict !== null) {
          return conflict;
        }
        transaction.set(document, {
          attempt: curve.attempt,
          [EXPIRY_FIELD]: expireAt,
          body: JSON.stringify(curve),
        });
        return 'WRITTEN';
      });
    },
    async readMany(tuningId, ordinals) {
      if (ordinals.length === 0) {
        return [];
      }
      const found = await firestore.getAll(...ordinals.map((ordinal) => documentOf(tuningId, ordinal)));
      const existing = found.filter(({ exists }) => exists);
      return parseEach(existing, curveOf);
    },
  };
}

function curveOf(document: DocumentSnapshot): Curve {
  return parseStoredCurve(String(document.get('body')));
}
