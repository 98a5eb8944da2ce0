import type { Database } from '#infra/embedded/data-dir/database.ts';
import { SCHEMA } from '#infra/embedded/job-state/schema.ts';
import type { CommitOutcome } from '#shared/ports/job-store.ts';
import type { TuningStore } from '#shared/ports/tuning-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';
import {
  formatStoredTrial,
  formatStoredTuning,
  formatStoredTuningEffect,
  parseStoredTrial,
  parseStoredTuning,
  parseStoredTuningEffect,
} from '#shared/protocol/stored-tuning.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import type { TuningEffect } from '#shared/tuning/tuning-effect.ts';

/**
 * Tunings in SQLite: the tuning's row, the trials that changed with it, the handled event and the outbox entries are
 * committed in one transaction.
 */
export function openSqliteTuningStore(database: Database): TuningStore {
  const statements = prepareStatements(database);

  function addToOutbox(tuning: Tuning, cause: string, effects: readonly TuningEffect[]): void {
    effects.forEach((effect, index) => {
      statements.addToOutbox.run(tuning.tuningId, `${cause}/${index}`, formatStoredTuningEffect(effect));
    });
  }

  function commit(change: Parameters<TuningStore['commit']>[0]): CommitOutcome {
    const { expectedRevision, eventId, tuning, trials, effects } = change;
    const { tuningId } = tuning;
    if (statements.isHandled.get(tuningId, eventId) !== undefined) {
      return 'DUPLICATE';
    }
    const body = formatStoredTuning(tuning);
    const { changes } = statements.update.run(wakeAtOf(tuning), body, tuningId, expectedRevision);
    if (changes === 0) {
      return 'STALE';
    }
    for (const trial of trials) {
      statements.writeTrial.run(trial.tuningId, trial.ordinal, formatStoredTrial(trial));
    }
    if (tuning.status === 'CLOSED') {
      // A closed tuning has no further transitions, so its handled events are no longer needed.
      statements.deleteHandled.run(tuningId);
    } else {
      statements.insertHandled.run(tuningId, eventId);
    }
    addToOutbox(tuning, eventId, effects);
    return 'COMMITTED';
  }

  return {
    async create(tuning, effects) {
      return database.transaction(() => {
        const { tuningId: id, createdAt: created_at } = tuning;
        const body = formatStoredTuning(tuning);
        const { changes } = statements.insert.run({ id, wake_at: wakeAtOf(tuning), created_at, body });
        if (changes === 0) {
          return 'EXISTS';
        }
        addToOutbox(tuning, 'created', effects);
        return 'CREATED';
      });
    },
    commit: async (change) => database.transaction(() => commit(change)),
    async markPublished(tuningId, entryId) {
      statements.markPublished.run(tuningId, entryId);
    },
    ...createReads(statements),
  };
}

type Reads = Omit<TuningStore, 'create' | 'commit' | 'markPublished'>;

function createReads(statements: ReturnType<typeof prepareStatements>): Reads {
  return {
    async read(tuningId) {
      const row = statements.read.get(tuningId);
      return row && { revision: Number(row.revision), tuning: parseStoredTuning(String(row.body)) };
    },
    listDue: async (now, countMax) =>
      statements.due
        .all(now, countMax)
        .map((row) => ({ tuningId: String(row.tuning_id), wakeAt: Number(row.wake_at) })),
    listTuningsWithOutbox: async (countMax) =>
      statements.tuningsWithOutbox.all(countMax).map((row) => String(row.tuning_id)),
    listOutbox: async (tuningId) =>
      statements.outbox
        .all(tuningId)
        .map((row) => ({ entryId: String(row.entry_id), effect: parseStoredTuningEffect(String(row.body)) })),
    async list({ countMax, after = { createdAt: Number.MAX_SAFE_INTEGER, jobId: '' } }) {
      const rows = statements.list.all({ created_at: after.createdAt, tuning_id: after.jobId, count: countMax });
      return parseEach(rows, ({ body }) => parseStoredTuning(String(body)));
    },
    async readTrial(tuningId, ordinal) {
      const row = statements.readTrial.get(tuningId, ordinal);
      return row && parseStoredTrial(String(row.body));
    },
    async listTrials(tuningId, { afterOrdinal, countMax }) {
      const rows = statements.listTrials.all(tuningId, afterOrdinal, countMax);
      return parseEach(rows, ({ body }) => parseStoredTrial(String(body)));
    },
  };
}

function wakeAtOf(tuning: Tuning): number | null {
  return tuning.status === 'CLOSED' ? null : tuning.wakeAt;
}

function prepareStatements({ sql }: Database) {
  sql.exec(SCHEMA);
  return {
    insert: sql.prepare(`
      insert into tunings select :id, 1, :wake_at, :created_at, :body
      where not exists (select 1 from jobs where job_id = :id) on conflict do nothing`),
    read: sql.prepare('select revision, body from tunings where tuning_id = ?'),
    isHandled: sql.prepare('select 1 from tuning_events where tuning_id = ? and event_id = ?'),
    update: sql.prepare(
      'update tunings set revision = revision + 1, wake_at = ?, body = ? where tuning_id = ? and revision = ?',
    ),
    writeTrial: sql.prepare('insert or replace into trials values (?, ?, ?)'),
    deleteHandled: sql.prepare('delete from tuning_events where tuning_id = ?'),
    insertHandled: sql.prepare('insert into tuning_events values (?, ?)'),
    addToOutbox: sql.prepare('insert into tuning_outbox (tuning_id, entry_id, body) values (?, ?, ?)'),
    due: sql.prepare('select tuning_id, wake_at from tunings where wake_at <= ? order by wake_at limit ?'),
    tuningsWithOutbox: sql.prepare(
      'select tuning_id from tuning_outbox group by tuning_id order by min(position) limit ?',
    ),
    outbox: sql.prepare('select entry_id, body from tuning_outbox where tuning_id = ? order by position'),
    markPublished: sql.prepare('delete from tuning_outbox where tuning_id = ? and entry_id = ?'),
    list: sql.prepare(`
      select body from tunings where created_at < :created_at or (created_at = :created_at and tuning_id > :tuning_id)
      order by created_at desc, tuning_id limit :count`),
    readTrial: sql.prepare('select body from trials where tuning_id = ? and ordinal = ?'),
    listTrials: sql.prepare('select body from trials where tuning_id = ? and ordinal > ? order by ordinal limit ?'),
  };
}
