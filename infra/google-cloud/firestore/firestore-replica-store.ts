import { type DocumentSnapshot, type Firestore, Timestamp } from '@google-cloud/firestore';
import {
  COLLECTIONS,
  EXPIRY_FIELD,
  REPLICA_AGE_MS_MAX,
  toDocumentId,
} from '#infra/google-cloud/firestore/collections.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import type { ReplicaStore } from '#shared/ports/replica-store.ts';
import { parseEach, parseStoredReplica } from '#shared/protocol/stored-record.ts';

/** Replica records, one document per replica and attempt. The lease is a separate field, because it is queried. */
export function createFirestoreReplicaStore(firestore: Firestore): ReplicaStore {
  const replicas = firestore.collection(COLLECTIONS.replicas);

  return {
    async record(replica) {
      const document = replicas.doc(toDocumentId(`${replica.jobId}/${replica.attempt}/${replica.replica}`));
      return firestore.runTransaction(async (transaction) => {
        const stored = await transaction.get(document);
        if (stored.exists && isOutdated(replica, toReplica(stored))) {
          return 'OUTDATED';
        }
        transaction.set(document, toDocument(replica));
        return 'RECORDED';
      });
    },
    async listExpired(now, countMax) {
      const expired = replicas.where('leaseExpiresAt', '<=', now).orderBy('leaseExpiresAt').limit(countMax);
      return parseEach((await expired.get()).docs, toReplica);
    },
    async lastHeartbeatAt() {
      const [latest] = (await replicas.orderBy('heardAt', 'desc').limit(1).get()).docs;
      return (latest?.get('heardAt') as TimestampMs | null | undefined) ?? undefined;
    },
    async findByInstance(instanceId) {
      const [found] = (await replicas.where('instanceId', '==', instanceId).limit(1).get()).docs;
      return found && toReplica(found);
    },
    async listByAttempt({ jobId, attempt }) {
      const found = await replicas.where('jobId', '==', jobId).where('attempt', '==', attempt).get();
      return found.docs.map(toReplica).sort((a, b) => (a.replica < b.replica ? -1 : 1));
    },
    async clearLeases(jobId, attempt) {
      const found = await replicas.where('jobId', '==', jobId).where('attempt', '<=', attempt).get();
      const leased = found.docs.filter((document) => document.get('leaseExpiresAt') !== null);
      await Promise.all(leased.map(({ ref }) => ref.update({ leaseExpiresAt: null })));
    },
  };
}

function isOutdated(next: Replica, stored: Replica): boolean {
  const isOlder = stored.sequence > next.sequence || (stored.exit !== null && next.exit === null);
  return stored.instanceId === next.instanceId && isOlder;
}

function toDocument(replica: Replica) {
  const { jobId, attempt, instanceId, leaseExpiresAt, heardAt, sequence } = replica;
  return {
    jobId,
    attempt,
    instanceId,
    leaseExpiresAt,
    // Sequence 0: no heartbeat yet.
    heardAt: sequence === 0 ? null : heardAt,
    [EXPIRY_FIELD]: Timestamp.fromMillis(heardAt + REPLICA_AGE_MS_MAX),
    body: JSON.stringify(replica),
  };
}

function toReplica(document: DocumentSnapshot): Replica {
  const body = parseStoredReplica(String(document.get('body')));
  return { ...body, leaseExpiresAt: document.get('leaseExpiresAt') as Replica['leaseExpiresAt'] };
}
