import { type Firestore, Timestamp } from '@google-cloud/firestore';
import { COLLECTIONS, EXPIRY_FIELD, toDocumentId } from '#infra/google-cloud/firestore/collections.ts';
import { CAPACITY_FAILURE_AGE_MS_MAX, type CapacityFailure } from '#shared/domain/capacity.ts';
import type { CapacityHistory } from '#shared/ports/capacity-history.ts';

const FAILURES_READ_MAX = 500;

/** Capacity failures, one document each. Recording one twice has no effect; Firestore deletes them when they expire. */
export function createFirestoreCapacityHistory(firestore: Firestore): CapacityHistory {
  const failures = firestore.collection(COLLECTIONS.capacityHistory);

  return {
    async record({ machineKey, provisioningModel, zone, failedAt }) {
      const id = toDocumentId(`${zone}/${provisioningModel}/${machineKey}/${failedAt}`);
      const expireAt = Timestamp.fromMillis(failedAt + CAPACITY_FAILURE_AGE_MS_MAX);
      await failures
        .doc(id)
        .set({ machineKey, provisioningModel, zone, refusedAt: failedAt, [EXPIRY_FIELD]: expireAt });
    },
    async recall({ machineKey, provisioningModel, since }) {
      const found = await failures
        .where('machineKey', '==', machineKey)
        .where('provisioningModel', '==', provisioningModel)
        .where('refusedAt', '>=', since)
        .orderBy('refusedAt', 'desc')
        .limit(FAILURES_READ_MAX)
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
