import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeCapacityHistoryContract } from './capacity-history.contract.ts';

describeCapacityHistoryContract('SQLite', onDatabaseFile(openSqliteCapacityHistory));
