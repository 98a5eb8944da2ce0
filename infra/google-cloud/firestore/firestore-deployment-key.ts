import { randomBytes } from 'node:crypto';
import type { Firestore } from '@google-cloud/firestore';
import { COLLECTIONS } from '#infra/google-cloud/firestore/collections.ts';
import { type DeploymentKey, deploymentKeySchema } from '#shared/ports/deployment-key.ts';

/** The key of a deployment: one document, which a process reads once. */
export function createFirestoreDeploymentKey(firestore: Firestore): DeploymentKey {
  const document = firestore.collection(COLLECTIONS.keys).doc('peers');
  let key: string | undefined;
  return {
    async read() {
      key ??= await firestore.runTransaction(async (transaction) => {
        const stored = await transaction.get(document);
        const chosen = stored.exists ? stored.get('key') : randomBytes(32).toString('base64');
        if (!stored.exists) {
          transaction.set(document, { key: chosen });
        }
        return deploymentKeySchema.parse(chosen);
      });
      return key;
    },
  };
}
