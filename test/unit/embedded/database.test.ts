import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';

describe('a transaction', () => {
  let directory: string;
  let database: Database;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dropforge-database-'));
    database = openDatabase(join(directory, 'state.sqlite'));
    database.sql.exec('create table notes (note text not null) strict');
  });
  afterEach(async () => {
    database.close();
    await rm(directory, { recursive: true });
  });

  const write = (note: string) => database.sql.prepare('insert into notes values (?)').run(note);
  const read = (from = database) =>
    from.sql
      .prepare('select note from notes')
      .all()
      .map(({ note }) => note);

  function readElsewhere(): readonly unknown[] {
    const other = openDatabase(join(directory, 'state.sqlite'));
    try {
      return read(other);
    } finally {
      other.close();
    }
  }

  it('returns the result of its work after the commit', () => {
    expect(database.transaction(() => write('a').changes)).toBe(1);
    expect(readElsewhere()).toEqual(['a']);
  });

  it('writes nothing if its work throws, and allows the next transaction', () => {
    const failing = () =>
      database.transaction(() => {
        write('a');
        throw new Error('the work failed');
      });
    expect(failing).toThrow('the work failed');
    expect(read()).toEqual([]);
    database.transaction(() => write('b'));
    expect(readElsewhere()).toEqual(['b']);
  });

  it('joins a nested transaction: both are committed, or neither is', () => {
    const failing = () =>
      database.transaction(() => {
        database.transaction(() => write('inner'));
        expect(readElsewhere()).toEqual([]);
        throw new Error('the outer work failed');
      });
    expect(failing).toThrow('the outer work failed');
    expect(read()).toEqual([]);
  });
});

describe('the file of a database', () => {
  it('is readable by its user only, with its log, even if created with wider permissions', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'dropforge-database-'));
    await writeFile(join(directory, 'old.sqlite'), '');
    await chmod(join(directory, 'old.sqlite'), 0o644);
    const databases = ['new.sqlite', 'old.sqlite'].map((name) => openDatabase(join(directory, name)));
    for (const { sql } of databases) {
      sql.exec('create table notes (note text not null) strict');
    }
    const names = await readdir(directory);
    expect(names).toContain('new.sqlite-wal');
    const modes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).mode & 0o777));
    expect(new Set(modes)).toEqual(new Set([0o600]));
    for (const database of databases) {
      database.close();
    }
    await rm(directory, { recursive: true });
  });
});
