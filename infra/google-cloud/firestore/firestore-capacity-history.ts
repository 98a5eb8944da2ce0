import { type Firestore, Timestamp } from '@google-cloud/firestore';
import { COLLECTIONS, EXPIRY_FIELD, toDocumentId } from '#infra/google-cloud/firestore/collections.ts';
import { type CapacityRefusal, REFUSAL_AGE_MS_MAX } from '#shared/domain/capacity.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';

const REFUSALS_RECALLED_MAX = 500;

/** Refusals of zones, a document each; the same refusal told twice is one, and Firestore deletes those that no longer count. */
export function createFirestoreCapacityHistory(firestore: Firestore): CapacityHistory {
  const refusals = firestore.collection(COLLECTIONS.capacityRefusals);

  return {
    async record(refusal) {
      const { machineKey, provisioningModel, zone, refusedAt } = refusal;
      const id = toDocumentId(`${zone}/${provisioningModel}/${machineKey}/${refusedAt}`);
      await refusals.doc(id).set({ ...refusal, [EXPIRY_FIELD]: Timestamp.fromMillis(refusedAt + REFUSAL_AGE_MS_MAX) });
    },
    async recall({ machineKey, provisioningModel, since }) {
      const found = await refusals
        .where('machineKey', '==', machineKey)
        .where('provisioningModel', '==', provisioningModel)
        .where('refusedAt', '>=', since)
        .orderBy('refusedAt', 'desc')
        .limit(REFUSALS_RECALLED_MAX)
        .get();
      return found.docs.map(
        (document): CapacityRefusal => ({
          zone: String(document.get('zone')),
          machineKey,
          provisioningModel,
          refusedAt: Number(document.get('refusedAt')),
        }),
      );
    },
  };
}
