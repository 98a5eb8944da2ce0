import { openSqliteReplicaStore } from '#infra/embedded/jobs/sqlite-replica-store.ts';
import { describeReplicaStoreContract } from './replica-store.contract.ts';
import { onDatabaseFile } from './sqlite-store-under-test.ts';

describeReplicaStoreContract('SQLite', onDatabaseFile(openSqliteReplicaStore));
