import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { COUNTDOWNS, openSqliteCountdowns } from '../support/machine/countdown.ts';
import { describeRecordStoreContract } from './record-store.contract.ts';

describeRecordStoreContract('SQLite as a store of countdowns', onDatabaseFile(openSqliteCountdowns), COUNTDOWNS);
