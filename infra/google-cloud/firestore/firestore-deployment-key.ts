import { randomBytes } from 'node:crypto';
import type { Firestore } from '@google-cloud/firestore';
import { COLLECTIONS } from '#infra/google-cloud/firestore/collections.ts';
import { DEPLOYMENT_KEY_BYTES, type DeploymentKey, decodeDeploymentKey } from '#shared/ports/deployment-key.ts';

/** The key of a deployment: one document, which a process reads once. */
export function createFirestoreDeploymentKey(firestore: Firestore): DeploymentKey {
  const document = firestore.collection(COLLECTIONS.keys).doc('peers');
  let read: Uint8Array | undefined;
  return {
    async read() {
      read ??= await firestore.runTransaction(async (transaction) => {
        const stored = await transaction.get(document);
        const key = stored.exists ? stored.get('key') : randomBytes(DEPLOYMENT_KEY_BYTES).toString('base64');
        if (!stored.exists) {
          transaction.set(document, { key });
        }
        return decodeDeploymentKey(key);
      });
      return read;
    },
  };
}
