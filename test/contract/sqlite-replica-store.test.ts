import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeReplicaStoreContract } from './replica-store.contract.ts';

describeReplicaStoreContract('SQLite', onDatabaseFile(openSqliteReplicaStore));
