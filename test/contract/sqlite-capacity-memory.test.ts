import { openSqliteCapacityMemory } from '#infra/embedded/jobs/sqlite-capacity-memory.ts';
import { describeCapacityMemoryContract } from './capacity-memory.contract.ts';
import { onDatabaseFile } from './sqlite-store-under-test.ts';

describeCapacityMemoryContract('SQLite', onDatabaseFile(openSqliteCapacityMemory));
