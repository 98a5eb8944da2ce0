import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';

const REMEDY =
  'Restore this file from a copy of the directory, or start an embedded cloud in another one (--data-dir). Nothing was changed.';

/**
 * Opens the database of a data directory, whose objects are beside it in `objects`. Throws an error, and changes nothing,
 * if the file is damaged, or missing although there are objects: a new one would not know their names, nor any job.
 */
export function openCheckedDatabase(dataDir: string): Database {
  const path = join(dataDir, 'dropforge.db');
  const objects = join(dataDir, 'objects');
  const hasObjects =
    existsSync(objects) &&
    readdirSync(objects, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());
  const sizeBytes = existsSync(path) ? statSync(path).size : null;
  if (hasObjects && (sizeBytes ?? 0) === 0) {
    throw new Error(
      `The database ${path} is ${sizeBytes === null ? 'missing' : 'empty'}, although ${objects} has objects. ${REMEDY}`,
    );
  }
  const damage = sizeBytes === null || sizeBytes === 0 ? null : findDamage(path, hasObjects);
  if (damage !== null) {
    throw new Error(`The database ${path} is damaged (${damage}). ${REMEDY}`);
  }
  return openDatabase(path);
}

/** SQLite's own check of the whole file (sqlite.org, "PRAGMA quick_check"), which reads it once. */
function findDamage(path: string, hasObjects: boolean): string | null {
  try {
    const sql = new DatabaseSync(path, { readOnly: true });
    try {
      const [first] = sql.prepare('pragma quick_check(1)').all();
      const verdict = String(first?.quick_check);
      const tables = sql.prepare("select count(*) as found from sqlite_schema where name = 'objects'").get();
      return verdict !== 'ok' ? verdict : hasObjects && tables?.found === 0 ? 'it has no table of objects' : null;
    } finally {
      sql.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
