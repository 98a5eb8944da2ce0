import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { connectState } from '#infra/google-cloud/compose/connect-state.ts';
import { describeCapacityHistoryContract } from '../contract/capacity-history.contract.ts';
import { describeCurveStoreContract } from '../contract/curve-store.contract.ts';
import { describeDeploymentKeyContract } from '../contract/deployment-key.contract.ts';
import { describeJobStoreContract } from '../contract/job-store.contract.ts';
import { describeNotificationLogContract } from '../contract/notification-log.contract.ts';
import { describeReplicaStoreContract } from '../contract/replica-store.contract.ts';
import { describeSubmittedIdsContract } from '../contract/submitted-ids.contract.ts';
import { describeTuningStoreContract } from '../contract/tuning-store.contract.ts';
import type { OpenStore } from '../support/contract/store-under-test.ts';
import { leaveOut } from '../support/run/leave-out.ts';

const hosts = inject('emulatorHosts');

if (hosts === null) {
  leaveOut('the Firestore and Pub/Sub emulators of gcloud, and Java', 'Firestore over REST');
} else {
  // The library reads the emulator's address from the environment of the process, as in a deployed function.
  process.env.FIRESTORE_EMULATOR_HOST = hosts.firestore;
  describeJobStoreContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ jobs }) => jobs),
  );
  describeTuningStoreContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ tunings }) => tunings),
  );
  describeSubmittedIdsContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ jobs, tunings }) => ({ jobs, tunings })),
  );
  describeCurveStoreContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ curves }) => curves),
  );
  describeReplicaStoreContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ replicas }) => replicas),
  );
  describeCapacityHistoryContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ capacity }) => capacity),
  );
  describeNotificationLogContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ notifications }) => notifications),
  );
  describeDeploymentKeyContract(
    'Firestore over REST',
    asDeployed(hosts.firestore, ({ deploymentKey }) => deploymentKey),
  );
}

/** The stores as deployed functions create them. On the emulator, every project id has its own database. */
function asDeployed<Store>(host: string, select: (state: ReturnType<typeof connectState>) => Store): OpenStore<Store> {
  return async () => {
    const settings = {
      PROJECT_ID: `test-${randomUUID()}`,
      FIRESTORE_DATABASE: '(default)',
      FIRESTORE_EMULATOR_HOST: host,
    };
    const connect = async () => select(connectState(settings));
    return { store: await connect(), connect, close: async () => {} };
  };
}
