import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogEntry, LogStore } from '#shared/ports/log-store.ts';
import { exampleLogEntry } from '../support/embedded/example-log-entry.ts';

export type LogStoreUnderTest = {
  readonly store: LogStore;
  /** Writes as VMs do; equal insert ids are one entry. */
  write(entries: readonly (LogEntry & { readonly insertId: string })[]): Promise<void>;
  /** Reopens all readers and writers. */
  reopen(): Promise<LogStoreUnderTest>;
  close(): Promise<void>;
};

const COUNT_MAX = 1_000;

/** The contract of every LogStore. */
export function describeLogStoreContract(name: string, open: () => Promise<LogStoreUnderTest>): void {
  describe(`${name} as a log store`, () => {
    let opened: LogStoreUnderTest;

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const read = (cursor: string, countMax = COUNT_MAX) => opened.store.read({ jobId: 'digits', cursor, countMax });

    async function writeLines(...texts: readonly string[]): Promise<void> {
      await opened.write(texts.map((text) => ({ ...exampleLogEntry(text), insertId: text })));
    }

    async function readLines(cursor = ''): Promise<readonly string[]> {
      return (await read(cursor)).entries.map(({ text }) => text);
    }

    it('reads entries exactly as they were written', async () => {
      const entry = {
        ...exampleLogEntry('loss “0.1” ✓\u0000\ttab\u2028"\\'),
        severity: 'ERROR',
        stream: 'stderr',
        at: 1_700_000_000_123,
      } as const;
      await opened.write([{ ...entry, insertId: 'a' }]);
      expect((await read('')).entries).toEqual([entry]);
    });

    it('reads the oldest first, page by page, each entry once', async () => {
      // Equal timestamps: Cloud Logging then orders by insert id, which agents increment.
      const texts = Array.from({ length: 25 }, (_, index) => `epoch ${String(index).padStart(2, '0')} ✓`);
      await writeLines(...texts);
      const pages: (readonly LogEntry[])[] = [];
      for (let cursor = ''; pages.at(-1)?.length !== 0; ) {
        const page = await read(cursor, 10);
        pages.push(page.entries);
        cursor = page.cursor;
      }
      expect(pages.map(({ length }) => length)).toEqual([10, 10, 5, 0]);
      expect(pages.flat().map(({ text }) => text)).toEqual(texts);
    });

    it('continues from the cursor after further writes', async () => {
      await writeLines('a', 'b');
      const { cursor } = await read('');
      expect(await readLines(cursor)).toEqual([]);
      await writeLines('c');
      expect(await readLines(cursor)).toEqual(['c']);
      expect(await readLines()).toEqual(['a', 'b', 'c']);
    });

    it('returns no entries for a job without logs, and a cursor that is valid later', async () => {
      const { entries, cursor } = await read('');
      expect(entries).toEqual([]);
      await writeLines('first');
      expect(await readLines(cursor)).toEqual(['first']);
    });

    it('deduplicates an entry that was written twice', async () => {
      await writeLines('a', 'b');
      await writeLines('b', 'c');
      expect(await readLines()).toEqual(['a', 'b', 'c']);
    });

    it('keeps equal entries with different ids', async () => {
      await opened.write(['1', '2'].map((insertId) => ({ ...exampleLogEntry('again'), insertId })));
      expect(await readLines()).toEqual(['again', 'again']);
    });

    it('separates jobs, also within one write', async () => {
      await opened.write([
        { ...exampleLogEntry('ours'), insertId: '1' },
        { ...exampleLogEntry('theirs'), jobId: 'other', insertId: '1' },
      ]);
      expect(await readLines()).toEqual(['ours']);
    });

    it('reads the entries of one replica, however many of others are between them', async () => {
      const line = 'x'.repeat(30_000);
      await opened.write([
        { ...exampleLogEntry('first'), replica: 'worker-1', insertId: 'a' },
        ...Array.from({ length: 50 }, (_, index) => ({ ...exampleLogEntry(line), insertId: `b${index + 10}` })),
        { ...exampleLogEntry('last'), replica: 'worker-1', insertId: 'c' },
        { ...exampleLogEntry('other'), replica: 'worker-10', insertId: 'd' },
      ]);
      const readOwn = (cursor: string, countMax: number) =>
        opened.store.read({ jobId: 'digits', replica: 'worker-1', cursor, countMax });
      expect((await readOwn('', COUNT_MAX)).entries.map(({ text }) => text)).toEqual(['first', 'last']);
      const first = await readOwn('', 1);
      const second = await readOwn(first.cursor, 1);
      const third = await readOwn(second.cursor, 1);
      expect([first, second, third].map(({ entries }) => entries[0]?.text)).toEqual(['first', 'last', undefined]);
    });

    it('returns an entry that is larger than most pages, and those after it', async () => {
      const long = 'x'.repeat(200_000);
      await opened.write(
        [long, `${long}y`, 'z'].map((text, index) => ({ ...exampleLogEntry(text), insertId: `${index}` })),
      );
      expect((await readLines()).map(({ length }) => length)).toEqual([200_000, 200_001, 1]);
    });

    it('keeps entries and deduplication after it is reopened', async () => {
      await writeLines('a', 'b');
      const { cursor } = await read('');
      opened = await opened.reopen();
      await writeLines('b', 'c');
      expect(await readLines(cursor)).toEqual(['c']);
      expect(await readLines()).toEqual(['a', 'b', 'c']);
    });
  });
}
