import { Firestore } from '@google-cloud/firestore';
import type { Settings } from '#functions/settings.ts';
import { authFor } from '#infra/google-cloud/compose/client-options.ts';
import { createFirestoreCapacityHistory } from '#infra/google-cloud/firestore/firestore-capacity-history.ts';
import { createFirestoreChangeFeed } from '#infra/google-cloud/firestore/firestore-change-feed.ts';
import { createFirestoreCurveStore } from '#infra/google-cloud/firestore/firestore-curve-store.ts';
import { createFirestoreDeploymentKey } from '#infra/google-cloud/firestore/firestore-deployment-key.ts';
import { createFirestoreJobStore } from '#infra/google-cloud/firestore/firestore-job-store.ts';
import { createFirestoreNotificationLog } from '#infra/google-cloud/firestore/firestore-notification-log.ts';
import { createFirestoreReplicaStore } from '#infra/google-cloud/firestore/firestore-replica-store.ts';
import { createFirestoreTuningStore } from '#infra/google-cloud/firestore/firestore-tuning-store.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';

export type StateSettings = Settings<'PROJECT_ID' | 'FIRESTORE_DATABASE' | 'FIRESTORE_EMULATOR_HOST'>;

/**
 * The stores on Firestore, through its REST API: gRPC would be more code to load at a cold start than everything else,
 * and no function listens for changes.
 */
export function connectState(settings: StateSettings) {
  const clock = { now: Date.now };
  const firestore = new Firestore({
    projectId: settings.PROJECT_ID,
    databaseId: settings.FIRESTORE_DATABASE,
    preferRest: true,
    auth: authFor(settings.FIRESTORE_EMULATOR_HOST),
  });
  return {
    clock,
    timeouts: TIMEOUTS,
    jobs: createFirestoreJobStore(firestore, clock),
    replicas: createFirestoreReplicaStore(firestore),
    tunings: createFirestoreTuningStore(firestore, clock),
    curves: createFirestoreCurveStore(firestore, clock),
    capacity: createFirestoreCapacityHistory(firestore),
    changes: createFirestoreChangeFeed(firestore, `${settings.PROJECT_ID}/${settings.FIRESTORE_DATABASE}`, clock),
    notifications: createFirestoreNotificationLog(firestore),
    deploymentKey: createFirestoreDeploymentKey(firestore),
  };
}
