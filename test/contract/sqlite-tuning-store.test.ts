import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeTuningStoreContract } from './tuning-store.contract.ts';

describeTuningStoreContract('SQLite', onDatabaseFile(openSqliteTuningStore));
