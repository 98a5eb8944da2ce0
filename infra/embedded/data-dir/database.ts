import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** One SQLite file, shared by the embedded adapters, so that what belongs together is committed together. */
export type Database = {
  readonly sql: DatabaseSync;
  /** Runs synchronous work in one transaction; a transaction begun inside another joins it. */
  transaction<T>(work: () => T): T;
  close(): void;
};

/**
 * Opens the file, or ':memory:'. With a write-ahead log and `synchronous=normal`, every commit survives the death of the
 * process (`kill -9`); the last ones may be lost when the machine itself loses power. Only this user can read the file:
 * secrets and a signing key are in it.
 */
export function openDatabase(path: string): Database {
  keepFromOthers(path);
  const sql = new DatabaseSync(path);
  sql.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 5000;');
  let isInTransaction = false;

  function transaction<T>(work: () => T): T {
    if (isInTransaction) {
      return work();
    }
    sql.exec('begin immediate');
    isInTransaction = true;
    try {
      const result = work();
      sql.exec('commit');
      return result;
    } catch (error) {
      // A commit that failed may have rolled back already.
      if (sql.isTransaction) {
        sql.exec('rollback');
      }
      throw error;
    } finally {
      isInTransaction = false;
    }
  }

  return { sql, transaction, close: () => sql.close() };
}

/** SQLite gives its log the rights of its file; those of an earlier version may have been wider. */
function keepFromOthers(path: string): void {
  if (path === ':memory:') {
    return;
  }
  // Never where it is open already: closing it once more would take away the locks of this process (POSIX).
  if (!existsSync(path)) {
    closeSync(openSync(path, 'a', 0o600));
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`].filter(existsSync)) {
    chmodSync(file, 0o600);
  }
}
