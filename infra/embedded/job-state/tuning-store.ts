import type { Database } from '#infra/embedded/data-dir/database.ts';
import { openSqliteRecordStore } from '#infra/embedded/job-state/record-store.ts';
import { JOB_TABLES, TUNING_TABLES } from '#infra/embedded/job-state/schema.ts';
import type { TuningFacts, TuningStore } from '#shared/ports/tuning-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';
import { parseStoredTrial, TUNING_FORM } from '#shared/protocol/stored-tuning.ts';

/** Tunings in SQLite, with a row for each of their trials. */
export function openSqliteTuningStore(database: Database): TuningStore {
  const records = openSqliteRecordStore(database, {
    form: TUNING_FORM,
    tables: TUNING_TABLES,
    sharesIdsWith: [JOB_TABLES],
    commitFacts({ trials }: TuningFacts) {
      for (const trial of trials) {
        write.run(trial.tuningId, trial.ordinal, JSON.stringify(trial));
      }
      return undefined;
    },
  });
  const { sql } = database;
  const write = sql.prepare('insert or replace into trials values (?, ?, ?)');
  const read = sql.prepare('select body from trials where tuning_id = ? and ordinal = ?');
  const list = sql.prepare('select body from trials where tuning_id = ? and ordinal > ? order by ordinal limit ?');

  return {
    ...records,
    async readTrial(tuningId, ordinal) {
      const row = read.get(tuningId, ordinal);
      return row && parseStoredTrial(String(row.body));
    },
    async listTrials(tuningId, { afterOrdinal, countMax }) {
      const rows = list.all(tuningId, afterOrdinal, countMax);
      return parseEach(rows, ({ body }) => parseStoredTrial(String(body)));
    },
  };
}
