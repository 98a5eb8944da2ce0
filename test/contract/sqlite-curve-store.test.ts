import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeCurveStoreContract } from './curve-store.contract.ts';

describeCurveStoreContract('SQLite', onDatabaseFile(openSqliteCurveStore));
