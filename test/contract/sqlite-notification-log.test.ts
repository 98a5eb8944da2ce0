import { expect, it } from 'vitest';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import { NOTIFICATION_AGE_MS_MAX } from '#shared/ports/notification-log.ts';
import { onDatabaseFile } from '../support/contract/sqlite-store-under-test.ts';
import { describeNotificationLogContract } from './notification-log.contract.ts';

describeNotificationLogContract('SQLite', onDatabaseFile(openSqliteNotificationLog));

it('SQLite deletes records that have expired', async () => {
  const log = openSqliteNotificationLog(openDatabase(':memory:'));
  const sent = { channel: 'a', title: 't', outcome: 'SENT', problem: null, status: 200 } as const;
  const record = { ...sent, latencyMs: 1, notBefore: null };
  await log.record({ ...record, notificationId: 'old', at: 0 });
  await log.record({ ...record, notificationId: 'new', at: NOTIFICATION_AGE_MS_MAX + 1 });
  expect([await log.find('old'), (await log.find('new'))?.at]).toEqual([undefined, NOTIFICATION_AGE_MS_MAX + 1]);
});
