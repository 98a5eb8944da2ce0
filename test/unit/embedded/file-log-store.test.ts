import { appendFileSync, mkdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FileLogStore, openFileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { exampleLogEntry } from '../../support/embedded/example-log-entry.ts';

describe('the log file of a job', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'dropforge-logs-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const path = () => join(directory, 'digits.jsonl');

  function append(store: FileLogStore, ...texts: readonly string[]): void {
    store.append(texts.map((text) => ({ ...exampleLogEntry(text), insertId: text })));
  }

  async function read(store: FileLogStore, cursor = '') {
    const page = await store.read({ jobId: 'digits', cursor, countMax: 1_000 });
    return { ...page, texts: page.entries.map(({ text }) => text) };
  }

  it('loses only the line that a crash of the writer has truncated', async () => {
    append(openFileLogStore(directory), 'a', 'b');
    appendFileSync(path(), '{"insertId":"c","jobId":"dig');
    const store = openFileLogStore(directory);
    expect((await read(store)).texts).toEqual(['a', 'b']);
    append(store, 'b', 'c', 'd');
    expect((await read(store)).texts).toEqual(['a', 'b', 'c', 'd']);
  });

  it('starts from scratch if its first line was truncated, however long it is', async () => {
    appendFileSync(path(), `{"insertId":"a","text":"${'x'.repeat(3 * 2 ** 20)}`);
    const store = openFileLogStore(directory);
    append(store, 'a');
    expect((await read(store)).texts).toEqual(['a']);
  });

  it('returns a line longer than a page on its own', async () => {
    const store = openFileLogStore(directory);
    store.append([
      { ...exampleLogEntry('x'.repeat(3 * 2 ** 20)), insertId: 'long' },
      { ...exampleLogEntry('next'), insertId: 'next' },
    ]);
    const first = await read(store);
    expect(first.entries[0]?.text).toHaveLength(3 * 2 ** 20);
    expect([...first.texts.slice(1), ...(await read(store, first.cursor)).texts]).toEqual(['next']);
  });

  it.each(['3', '999999', '9'.repeat(40), '-1', 'abc'])(
    'reads from the start for an invalid cursor: %s',
    async (cursor) => {
      const store = openFileLogStore(directory);
      append(store, 'a', 'b');
      expect((await read(store, cursor)).texts).toEqual(['a', 'b']);
    },
  );

  it('ends at its size limit with one notice, also after it is reopened', async () => {
    const open = () => openFileLogStore(directory, { fileBytesMax: 300 });
    append(open(), 'a');
    append(open(), 'b', 'c');
    const store = open();
    append(store, 'd');
    const { texts, entries } = await read(store);
    expect(texts).toEqual(['a', 'b', 'c', 'The log has reached its limit of 300 bytes; later entries are dropped.']);
    expect(entries.at(-1)).toMatchObject({ severity: 'WARNING', stream: 'agent' });
    const { size } = statSync(path());
    append(open(), 'e');
    expect(statSync(path()).size).toBe(size);
  });

  it('accepts entries again that it failed to write, or wrote only in part', async () => {
    const store = openFileLogStore(directory);
    append(store, 'a');
    rmSync(path());
    mkdirSync(path());
    expect(() => append(store, 'b')).toThrow('EISDIR');
    rmdirSync(path());
    appendFileSync(path(), '{"insertId":"b","te');
    append(store, 'b');
    expect((await read(store)).texts).toEqual(['b']);
  });

  it('still deduplicates the entries of a job after many other jobs have logged', async () => {
    const store = openFileLogStore(directory);
    append(store, 'a');
    store.append(
      Array.from({ length: 60 }, (_, index) => ({ ...exampleLogEntry('b'), jobId: `job_${index}`, insertId: 'b' })),
    );
    append(store, 'a');
    expect((await read(store)).texts).toEqual(['a']);
  });
});
