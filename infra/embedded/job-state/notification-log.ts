import type { Database } from '#infra/embedded/data-dir/database.ts';
import { NOTIFICATION_AGE_MS_MAX, type NotificationLog } from '#shared/ports/notification-log.ts';
import { parseStoredNotification } from '#shared/protocol/stored-record.ts';

const SCHEMA = `
  create table if not exists notifications (notification_id text primary key, at integer not null, body text not null)
    strict, without rowid;
  create index if not exists notifications_by_time on notifications (at);
`;

/** The notifications that were sent, one row each; old ones are deleted when new ones are recorded. */
export function openSqliteNotificationLog(database: Database): NotificationLog {
  const { sql } = database;
  sql.exec(SCHEMA);
  const find = sql.prepare('select body from notifications where notification_id = ?');
  const deleteExpired = sql.prepare('delete from notifications where at < ?');
  const replace = sql.prepare('insert or replace into notifications values (?, ?, ?)');
  const listNewest = sql.prepare('select body from notifications order by at desc limit ?');

  return {
    async find(notificationId) {
      const row = find.get(notificationId);
      return row && parseStoredNotification(String(row.body));
    },
    async record(record) {
      database.transaction(() => {
        deleteExpired.run(record.at - NOTIFICATION_AGE_MS_MAX);
        replace.run(record.notificationId, record.at, JSON.stringify(record));
      });
    },
    listNewest: async (countMax) => listNewest.all(countMax).map(({ body }) => parseStoredNotification(String(body))),
  };
}
