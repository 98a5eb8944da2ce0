import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openCheckedDatabase } from '#infra/embedded/data-dir/checked-database.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';

const PAGE_BYTES = 4_096;

let dataDir: string;
let path: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'dropforge-database-'));
  path = join(dataDir, 'dropforge.db');
  mkdirSync(join(dataDir, 'objects', 'ab'), { recursive: true });
  writeFileSync(join(dataDir, 'objects', 'ab', 'blob'), 'bytes');
  const database = openDatabase(path);
  database.sql.exec('create table objects (name text primary key, body text); create index bodies on objects (body)');
  const insert = database.sql.prepare('insert into objects values (?, ?)');
  database.transaction(() => {
    for (let index = 0; index < 500; index += 1) {
      insert.run(`object ${index}`, `${index}`.repeat(40));
    }
  });
  database.close();
});

afterEach(() => rmSync(dataDir, { recursive: true }));

function overwrite(offset: number, bytes: Buffer): void {
  const content = readFileSync(path);
  bytes.copy(content, offset);
  writeFileSync(path, content);
}

const garbage = (length: number) => Buffer.from(Array.from({ length }, (_, index) => (index * 7919 + 13) % 251));

it.each<[string, () => void, RegExp]>([
  ['missing', () => rmSync(path), /is missing, although/],
  ['empty', () => writeFileSync(path, ''), /is empty, although/],
  ['garbage', () => writeFileSync(path, garbage(20_000)), /is damaged/],
  ['text', () => writeFileSync(path, 'no database\n'), /is damaged/],
  ['without its header', () => overwrite(0, Buffer.alloc(100)), /is damaged/],
  ['with garbage after its header', () => overwrite(100, garbage(20_000)), /is damaged/],
  ['without its end', () => truncateSync(path, 5 * PAGE_BYTES), /is damaged/],
  ['cut within a page', () => truncateSync(path, 7 * PAGE_BYTES + 100), /is damaged/],
  ['with a page of garbage', () => overwrite(4 * PAGE_BYTES, garbage(PAGE_BYTES)), /is damaged/],
  ['with an empty page', () => overwrite(6 * PAGE_BYTES, Buffer.alloc(PAGE_BYTES)), /is damaged/],
  [
    'a new one',
    () => {
      rmSync(path);
      openDatabase(path).sql.exec('create table other (name text)');
    },
    /is damaged \(it has no table of objects\)/,
  ],
])('a database that is %s beside objects is named with a remedy, and left as it is', (_, damage, message) => {
  damage();
  const before = readdirSync(dataDir, { recursive: true }).filter((name) => !/-(wal|shm)$/.test(String(name)));
  const bytes = before.includes('dropforge.db') ? readFileSync(path) : null;

  expect(() => openCheckedDatabase(dataDir)).toThrow(message);
  expect(() => openCheckedDatabase(dataDir)).toThrow(`${path} is`);
  expect(() => openCheckedDatabase(dataDir)).toThrow('--data-dir');

  const after = readdirSync(dataDir, { recursive: true }).filter((name) => !/-(wal|shm)$/.test(String(name)));
  expect(after).toEqual(before);
  expect(bytes === null || readFileSync(path).equals(bytes)).toBe(true);
});

it('a valid database is opened, and a new directory gets one', () => {
  const database = openCheckedDatabase(dataDir);
  expect(database.sql.prepare('select count(*) as found from objects').get()).toEqual({ found: 500 });
  database.close();
  rmSync(join(dataDir, 'objects'), { recursive: true });
  rmSync(path);
  openCheckedDatabase(dataDir).close();
});
