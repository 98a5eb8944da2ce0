import type { Database } from '#infra/embedded/data-dir/database.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import { TIMEOUTS } from '#shared/domain/timeouts.ts';
import { noLog } from '../collected-log.ts';
import { withUpdates } from '../use-cases/updates.ts';

/** A channel, whose subscription gets a copy of each job update. */
export const CHANNEL = 'notify-team';

/** By column; `body` is parsed JSON, and the `data` of a message is text. */
export type Row = Readonly<Record<string, unknown>>;

/** The embedded cloud's file: the statements that have created it, and the rows of each table, for people to read. */
export type BaseDatabase = {
  readonly schema: readonly string[];
  readonly rows: Readonly<Record<string, readonly Row[]>>;
};

export const BASE_DATABASE_FILE = new URL('../../fixtures/base/database.json', import.meta.url);

/** The stores and the queue of messages, as the embedded cloud opens them over one file, at time 0. */
export function openStores(database: Database) {
  const jobs = openSqliteJobStore(database);
  const bus = openSqliteMessageQueue(database, { now: () => 0 }, { 'job-updates': [CHANNEL] });
  return withUpdates({
    database,
    bus,
    jobs,
    timeouts: TIMEOUTS,
    logger: noLog,
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    curves: openSqliteCurveStore(database),
    capacity: openSqliteCapacityHistory(database),
    notifications: openSqliteNotificationLog(database),
  });
}

export type Stores = ReturnType<typeof openStores>;

export function dump({ database: { sql } }: Stores): BaseDatabase {
  const statements = sql.prepare(
    "select name, type, sql from sqlite_master where sql is not null and name not like 'sqlite_%'",
  );
  const all = statements.all();
  const tables = all.filter(({ type }) => type === 'table').map(({ name }) => String(name));
  const rows = tables.map((name) => [name, sql.prepare(`select * from ${name}`).all().map(toReadable)] as const);
  return { schema: all.map(({ sql: text }) => String(text).replace(/\s+/g, ' ')), rows: Object.fromEntries(rows) };
}

/** Creates what was dumped, in an empty database. */
export function restore({ schema, rows }: BaseDatabase, { sql }: Database): void {
  for (const statement of schema) {
    sql.exec(statement);
  }
  for (const [table, found] of Object.entries(rows)) {
    for (const row of found.map(toStored)) {
      const columns = Object.keys(row);
      const insert = `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
      sql.prepare(insert).run(...Object.values(row));
    }
  }
}

type Stored = Readonly<Record<string, string | number | null>>;

function toReadable(row: Row): Row {
  const body = typeof row.body === 'string' ? (JSON.parse(row.body) as Row) : undefined;
  const data = typeof body?.data === 'string' ? { data: Buffer.from(body.data, 'base64').toString() } : {};
  return body === undefined ? { ...row } : { ...row, body: { ...body, ...data } };
}

function toStored(row: Row): Stored {
  const { body } = row as { readonly body?: Row };
  const data = typeof body?.data === 'string' ? { data: Buffer.from(body.data).toString('base64') } : {};
  return { ...row, ...(body !== undefined && { body: JSON.stringify({ ...body, ...data }) }) } as Stored;
}
