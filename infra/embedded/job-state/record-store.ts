import type { Database } from '#infra/embedded/data-dir/database.ts';
import { type RecordTables, schemaOf } from '#infra/embedded/job-state/schema.ts';
import {
  type Change,
  type CommitOutcome,
  type MachineRecord,
  type RecordForm,
  type RecordStore,
  wakeAtOf,
} from '#shared/machine/record-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';

export type SqliteRecords<Item, Effect, Facts> = {
  readonly form: RecordForm<Item, Effect>;
  readonly tables: RecordTables;
  /** The kinds of record that share their ids with this one: an id is taken by one of all. */
  readonly sharesIdsWith: readonly RecordTables[];
  /** Writes the further facts of a commit, in its transaction, or returns why nothing may be committed. */
  readonly commitFacts: (change: Change<Item, Effect> & Facts) => Extract<CommitOutcome, 'OVER_LIMIT'> | undefined;
};

/** Records in SQLite: the record's row, the handled event and the outbox entries are committed in one transaction. */
export function openSqliteRecordStore<Item extends MachineRecord, Effect, Facts>(
  database: Database,
  records: SqliteRecords<Item, Effect, Facts>,
): RecordStore<Item, Effect, Facts> {
  const { parse, parseEffect } = records.form;
  const statements = prepareStatements(database, records);
  return {
    ...createWrites(database, records, statements),
    async read(id) {
      const row = statements.read.get(id);
      return row && { revision: Number(row.revision), record: parse(String(row.body)) };
    },
    listDue: async (now, countMax) =>
      statements.due.all(now, countMax).map((row) => ({ id: String(row.id), wakeAt: Number(row.wake_at) })),
    listWithOutbox: async (countMax) => statements.withOutbox.all(countMax).map(({ id }) => String(id)),
    listOutbox: async (id) =>
      statements.outbox
        .all(id)
        .map((row) => ({ entryId: String(row.entry_id), effect: parseEffect(String(row.body)) })),
    async markPublished(id, entryId) {
      statements.markPublished.run(id, entryId);
    },
    async list({ countMax, after = { createdAt: Number.MAX_SAFE_INTEGER, id: '' } }) {
      const rows = statements.list.all({ created_at: after.createdAt, id: after.id, count: countMax });
      return parseEach(rows, ({ body }) => parse(String(body)));
    },
  };
}

function createWrites<Item extends MachineRecord, Effect, Facts>(
  { transaction }: Database,
  { form, commitFacts }: SqliteRecords<Item, Effect, Facts>,
  statements: ReturnType<typeof prepareStatements>,
): Pick<RecordStore<Item, Effect, Facts>, 'create' | 'commit'> {
  const idOf = (record: Item) => String(record[form.idField]);

  function addToOutbox(id: string, cause: string, effects: readonly Effect[]): void {
    effects.forEach((effect, index) => {
      statements.addToOutbox.run(id, `${cause}/${index}`, JSON.stringify(effect));
    });
  }

  function create(record: Item, effects: readonly Effect[]): 'CREATED' | 'EXISTS' {
    const row = { id: idOf(record), wake_at: wakeAtOf(record), created_at: record.createdAt };
    if (statements.insert.run({ ...row, body: JSON.stringify(record) }).changes === 0) {
      return 'EXISTS';
    }
    addToOutbox(row.id, 'created', effects);
    return 'CREATED';
  }

  function commit(change: Change<Item, Effect> & Facts): CommitOutcome {
    const { expectedRevision, eventId, record, effects } = change;
    const id = idOf(record);
    if (statements.isHandled.get(id, eventId) !== undefined) {
      return 'DUPLICATE';
    }
    if (Number(statements.read.get(id)?.revision) !== expectedRevision) {
      return 'STALE';
    }
    const rejection = commitFacts(change);
    if (rejection !== undefined) {
      return rejection;
    }
    statements.update.run(wakeAtOf(record), JSON.stringify(record), id);
    if (record.status === 'CLOSED') {
      // A closed record has no further transitions, so its handled events are no longer needed.
      statements.deleteHandled.run(id);
    } else {
      statements.insertHandled.run(id, eventId);
    }
    addToOutbox(id, eventId, effects);
    return 'COMMITTED';
  }

  return {
    create: async (record, effects) => transaction(() => create(record, effects)),
    commit: async (change) => transaction(() => commit(change)),
  };
}

function prepareStatements(
  { sql }: Database,
  { tables, sharesIdsWith }: Pick<SqliteRecords<never, never, never>, 'tables' | 'sharesIdsWith'>,
) {
  const { records, idColumn, handledEvents, outbox, isListed } = tables;
  for (const kind of [tables, ...sharesIdsWith]) {
    sql.exec(schemaOf(kind));
  }
  const isTaken = sharesIdsWith.map((other) => `select 1 from ${other.records} where ${other.idColumn} = :id`);
  return {
    insert: sql.prepare(`
      insert into ${records} select :id, 1, :wake_at, :created_at, :body
      where not exists (${isTaken.join(' union all ') || 'select 1 where false'}) on conflict do nothing`),
    read: sql.prepare(`select revision, body from ${records} where ${idColumn} = ?`),
    isHandled: sql.prepare(`select 1 from ${handledEvents} where ${idColumn} = ? and event_id = ?`),
    update: sql.prepare(`update ${records} set revision = revision + 1, wake_at = ?, body = ? where ${idColumn} = ?`),
    deleteHandled: sql.prepare(`delete from ${handledEvents} where ${idColumn} = ?`),
    insertHandled: sql.prepare(`insert into ${handledEvents} values (?, ?)`),
    addToOutbox: sql.prepare(`insert into ${outbox} (${idColumn}, entry_id, body) values (?, ?, ?)`),
    due: sql.prepare(`select ${idColumn} as id, wake_at from ${records} where wake_at <= ? order by wake_at limit ?`),
    withOutbox: sql.prepare(`select ${idColumn} as id from ${outbox} group by id order by min(position) limit ?`),
    outbox: sql.prepare(`select entry_id, body from ${outbox} where ${idColumn} = ? order by position`),
    markPublished: sql.prepare(`delete from ${outbox} where ${idColumn} = ? and entry_id = ?`),
    list: sql.prepare(`
      select body from ${records}
      where ${isListed} and (created_at < :created_at or (created_at = :created_at and ${idColumn} > :id))
      order by created_at desc, ${idColumn} limit :count`),
  };
}
