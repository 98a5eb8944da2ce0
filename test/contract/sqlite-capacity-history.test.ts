import { openSqliteCapacityMemory } from '#infra/embedded/job-state/capacity-history.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeCapacityMemoryContract } from './capacity-history.contract.ts';

describeCapacityMemoryContract('SQLite', onDatabaseFile(openSqliteCapacityMemory));
