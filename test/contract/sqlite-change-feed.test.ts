import { openSqliteChangeFeed } from '#infra/embedded/job-state/change-feed.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeChangeFeedContract } from './change-feed.contract.ts';

describeChangeFeedContract(
  'SQLite',
  onDatabaseFile((database) => ({
    jobs: openSqliteJobStore(database),
    tunings: openSqliteTuningStore(database),
    replicas: openSqliteReplicaStore(database),
    changes: openSqliteChangeFeed(database),
  })),
);
