import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { CurveStore } from '#shared/ports/tuning-store.ts';
import { parseEach } from '#shared/protocol/stored-record.ts';
import { findCurveConflict, parseStoredCurve } from '#shared/protocol/stored-tuning.ts';

const SCHEMA = `
  create table if not exists curves (
    tuning_id text not null, ordinal integer not null, attempt integer not null, body text not null,
    primary key (tuning_id, ordinal)
  ) strict, without rowid;
`;

/** The reports of trials, one row per trial. */
export function openSqliteCurveStore({ sql, transaction }: Database): CurveStore {
  sql.exec(SCHEMA);
  const write = sql.prepare(`
    insert into curves values (?, ?, ?, ?)
    on conflict do update set attempt = excluded.attempt, body = excluded.body`);
  const read = sql.prepare('select body from curves where tuning_id = ? and ordinal = ?');

  return {
    async read(tuningId, ordinal) {
      const row = read.get(tuningId, ordinal);
      return row && parseStoredCurve(String(row.body));
    },
    async write(curve, replaced) {
      const { tuningId, ordinal, attempt } = curve;
      return transaction(() => {
        const row = read.get(tuningId, ordinal);
        const stored = row && parseStoredCurve(String(row.body));
        const conflict = findCurveConflict(curve, { stored, replaced });
        if (conflict !== null) {
          return conflict;
        }
        write.run(tuningId, ordinal, attempt, JSON.stringify(curve));
        return 'WRITTEN';
      });
    },
    async readMany(tuningId, ordinals) {
      const rows = ordinals.map((ordinal) => read.get(tuningId, ordinal)).filter((row) => row !== undefined);
      return parseEach(rows, ({ body }) => parseStoredCurve(String(body)));
    },
  };
}
