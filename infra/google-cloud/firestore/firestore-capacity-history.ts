import { type Firestore, Timestamp } from '@google-cloud/firestore';
import { COLLECTIONS, EXPIRY_FIELD, toDocumentId } from '#infra/google-cloud/firestore/collections.ts';
import { CAPACITY_FAILURE_AGE_MS_MAX, type CapacityFailure } from '#shared/domain/capacity.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';

const REFUSALS_RECALLED_MAX = 500;

/** Refusals of zones, a document each; the same refusal told twice is one, and Firestore deletes those that no longer count. */
export function createFirestoreCapacityHistory(firestore: Firestore): CapacityHistory {
  const refusals = firestore.collection(COLLECTIONS.capacityRefusals);

  return {
    async record({ machineKey, provisioningModel, zone, failedAt }) {
      const id = toDocumentId(`${zone}/${provisioningModel}/${machineKey}/${failedAt}`);
      const expireAt = Timestamp.fromMillis(failedAt + CAPACITY_FAILURE_AGE_MS_MAX);
      await refusals
        .doc(id)
        .set({ machineKey, provisioningModel, zone, refusedAt: failedAt, [EXPIRY_FIELD]: expireAt });
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
        (document): CapacityFailure => ({
          zone: String(document.get('zone')),
          machineKey,
          provisioningModel,
          failedAt: Number(document.get('refusedAt')),
        }),
      );
    },
  };
}
