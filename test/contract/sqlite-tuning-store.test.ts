import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeSubmittedIdsContract } from './submitted-ids.contract.ts';
import { describeTuningStoreContract } from './tuning-store.contract.ts';

describeTuningStoreContract('SQLite', onDatabaseFile(openSqliteTuningStore));
describeSubmittedIdsContract(
  'SQLite',
  onDatabaseFile((database) => ({ jobs: openSqliteJobStore(database), tunings: openSqliteTuningStore(database) })),
);
