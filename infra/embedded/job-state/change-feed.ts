import type { Database } from '#infra/embedded/data-dir/database.ts';
import { CHANGES_MAX, type Change, type ChangeFeed, type ChangeKind } from '#shared/ports/change-feed.ts';

/** On one machine, requests cost nothing. */
const POLL_MS = 500;

/**
 * The last change of each job and kind, in the order of the changes: each gets a new position. Triggers write it in the
 * transaction of the change, so that a position is never visible before a lower one. `REPLACE` would not do: within a
 * trigger, the outer statement decides on conflicts.
 */
const SCHEMA = `
  create table if not exists recent_changes (
    position integer primary key autoincrement, job_id text not null, kind text not null, unique (job_id, kind)
  ) strict;
  create table if not exists database_identity (id text not null) strict;
  insert into database_identity select lower(hex(randomblob(8))) where not exists (select 1 from database_identity);
  ${triggersOf('jobs', { id: 'job_id', kind: 'RECORD' })}
  ${triggersOf('tunings', { id: 'tuning_id', kind: 'RECORD' })}
  ${triggersOf('replicas', { id: 'job_id', kind: 'HEARTBEAT' })}
`;

function triggersOf(table: string, { id, kind }: { readonly id: string; readonly kind: ChangeKind }): string {
  const triggers = ['insert', 'update'].map(
    (event) => `
      create trigger if not exists ${table}_${event}_changes after ${event} on ${table} begin
        delete from recent_changes where job_id = new.${id} and kind = '${kind}';
        insert into recent_changes (job_id, kind) values (new.${id}, '${kind}');
      end;`,
  );
  return triggers.join('');
}

/** The changes of the jobs, tunings and replicas in this database, whose tables exist. */
export function openSqliteChangeFeed({ sql }: Database): ChangeFeed {
  sql.exec(SCHEMA);
  const statements = {
    identity: sql.prepare('select id from database_identity'),
    last: sql.prepare('select coalesce(max(position), 0) as position from recent_changes'),
    all: sql.prepare('select position, job_id, kind from recent_changes where position > ? order by position limit ?'),
    ofJob: sql.prepare('select position, job_id, kind from recent_changes where job_id = ? and position > ?'),
  };
  const database = String(statements.identity.get()?.id);

  return {
    async list({ marker, jobId }) {
      const last = Number(statements.last.get()?.position);
      const after = readMarker(marker, { database, last });
      const next = { marker: `${database}.${last}`, pollAfterMs: POLL_MS };
      if (after === undefined) {
        return { changes: [], isEverything: true, ...next };
      }
      const rows =
        jobId === undefined ? statements.all.all(after, CHANGES_MAX + 1) : statements.ofJob.all(jobId, after);
      const isEverything = rows.length > CHANGES_MAX;
      return { changes: isEverything ? [] : rows.map(toChange), isEverything, ...next };
    },
  };
}

/** The position of a marker; undefined if it is not one of this database. */
function readMarker(
  marker: string | undefined,
  { database, last }: { readonly database: string; readonly last: number },
): number | undefined {
  const [, position] = marker?.startsWith(`${database}.`) ? (/^\w+\.(\d{1,15})$/.exec(marker) ?? []) : [];
  return position !== undefined && Number(position) <= last ? Number(position) : undefined;
}

function toChange({ position, job_id: jobId, kind }: Record<string, unknown>): Change {
  return { jobId: String(jobId), kind: kind as ChangeKind, version: String(position) };
}
