import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** One SQLite file, shared by the embedded adapters, so that related changes are committed in one transaction. */
export type Database = {
  readonly sql: DatabaseSync;
  /** Runs synchronous work in one transaction; a nested transaction joins the outer one. */
  transaction<T>(work: () => T): T;
  close(): void;
};

/**
 * Opens the file, or ':memory:'. With a write-ahead log and `synchronous=normal`, every commit survives a crash of the
 * process (`kill -9`); the most recent commits may be lost on a power failure of the machine. The file is readable by
 * this user only: it contains secrets and a signing key.
 */
export function openDatabase(path: string): Database {
  restrictToOwner(path);
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
      // A failed commit may have rolled back already.
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

/** SQLite creates its log with the permissions of its file; earlier versions may have created it with wider ones. */
function restrictToOwner(path: string): void {
  if (path === ':memory:') {
    return;
  }
  // Never open an existing file here: if this process has it open already, closing it again releases its locks (POSIX).
  if (!existsSync(path)) {
    closeSync(openSync(path, 'a', 0o600));
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`].filter(existsSync)) {
    chmodSync(file, 0o600);
  }
}
