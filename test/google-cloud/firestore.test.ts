import { describe, expect, inject, it } from 'vitest';
import { createFirestoreCapacityHistory } from '#infra/google-cloud/firestore/firestore-capacity-history.ts';
import { createFirestoreChangeFeed } from '#infra/google-cloud/firestore/firestore-change-feed.ts';
import { createFirestoreCurveStore } from '#infra/google-cloud/firestore/firestore-curve-store.ts';
import { createFirestoreDeploymentKey } from '#infra/google-cloud/firestore/firestore-deployment-key.ts';
import { createFirestoreJobStore } from '#infra/google-cloud/firestore/firestore-job-store.ts';
import { createFirestoreNotificationLog } from '#infra/google-cloud/firestore/firestore-notification-log.ts';
import { createFirestoreReplicaStore } from '#infra/google-cloud/firestore/firestore-replica-store.ts';
import { createFirestoreTuningStore } from '#infra/google-cloud/firestore/firestore-tuning-store.ts';
import { describeCapacityHistoryContract } from '../contract/capacity-history.contract.ts';
import { describeChangeFeedContract } from '../contract/change-feed.contract.ts';
import { describeCurveStoreContract } from '../contract/curve-store.contract.ts';
import { describeDeploymentKeyContract } from '../contract/deployment-key.contract.ts';
import { describeJobStoreContract } from '../contract/job-store.contract.ts';
import { describeNotificationLogContract } from '../contract/notification-log.contract.ts';
import { describeRecordStoreContract } from '../contract/record-store.contract.ts';
import { describeReplicaStoreContract } from '../contract/replica-store.contract.ts';
import { describeSubmittedIdsContract } from '../contract/submitted-ids.contract.ts';
import { describeTuningStoreContract } from '../contract/tuning-store.contract.ts';
import { onFirestore } from '../support/google-cloud/firestore-under-test.ts';
import { COUNTDOWNS, createFirestoreCountdowns } from '../support/machine/countdown.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const hosts = inject('emulatorHosts');

if (hosts === null) {
  leaveOut('the Firestore and Pub/Sub emulators of gcloud, and Java', 'Firestore');
} else {
  const clock = { now: () => 1_800_000_000_000 };
  describeJobStoreContract(
    'Firestore',
    onFirestore(hosts.firestore, (firestore) => createFirestoreJobStore(firestore, clock)),
  );
  describeTuningStoreContract(
    'Firestore',
    onFirestore(hosts.firestore, (firestore) => createFirestoreTuningStore(firestore, clock)),
  );
  describeRecordStoreContract(
    'Firestore as a store of countdowns',
    onFirestore(hosts.firestore, (firestore) => createFirestoreCountdowns({ firestore, clock })),
    COUNTDOWNS,
  );
  describeSubmittedIdsContract(
    'Firestore',
    onFirestore(hosts.firestore, (firestore) => ({
      jobs: createFirestoreJobStore(firestore, clock),
      tunings: createFirestoreTuningStore(firestore, clock),
    })),
  );
  describeCurveStoreContract(
    'Firestore',
    onFirestore(hosts.firestore, (firestore) => createFirestoreCurveStore(firestore, clock)),
  );
  describeReplicaStoreContract('Firestore', onFirestore(hosts.firestore, createFirestoreReplicaStore));
  describeCapacityHistoryContract('Firestore', onFirestore(hosts.firestore, createFirestoreCapacityHistory));
  describeChangeFeedContract(
    'Firestore',
    onFirestore(hosts.firestore, (firestore, projectId) => ({
      jobs: createFirestoreJobStore(firestore, clock),
      tunings: createFirestoreTuningStore(firestore, clock),
      replicas: createFirestoreReplicaStore(firestore),
      changes: createFirestoreChangeFeed(firestore, projectId, { now: Date.now }),
    })),
  );
  describeDeploymentKeyContract('Firestore', onFirestore(hosts.firestore, createFirestoreDeploymentKey));
  describeNotificationLogContract('Firestore', onFirestore(hosts.firestore, createFirestoreNotificationLog));
}
