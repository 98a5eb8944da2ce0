import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogEntry, LogStore } from '#shared/ports/log-store.ts';
import { exampleLogEntry } from '../support/embedded/example-log-entry.ts';

export type LogStoreUnderTest = {
  readonly store: LogStore;
  /** Writes as VMs do; an id that was written before is the same entry. */
  write(entries: readonly (LogEntry & { readonly insertId: string })[]): Promise<void>;
  /** Everything that reads and writes is opened anew. */
  reopen(): Promise<LogStoreUnderTest>;
  close(): Promise<void>;
};

const COUNT_MAX = 1_000;

/** What every log store promises, whatever is behind it. */
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

    it('reads back what was written, to the letter', async () => {
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
      // Of one instant: Cloud Logging then goes by their ids, which an agent counts up.
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

    it('goes on from the cursor when more was written', async () => {
      await writeLines('a', 'b');
      const { cursor } = await read('');
      expect(await readLines(cursor)).toEqual([]);
      await writeLines('c');
      expect(await readLines(cursor)).toEqual(['c']);
      expect(await readLines()).toEqual(['a', 'b', 'c']);
    });

    it('has nothing of a job that has not logged, and a cursor that is good later', async () => {
      const { entries, cursor } = await read('');
      expect(entries).toEqual([]);
      await writeLines('first');
      expect(await readLines(cursor)).toEqual(['first']);
    });

    it('keeps an entry once that was written twice', async () => {
      await writeLines('a', 'b');
      await writeLines('b', 'c');
      expect(await readLines()).toEqual(['a', 'b', 'c']);
    });

    it('keeps what looks the same but was said twice', async () => {
      await opened.write(['1', '2'].map((insertId) => ({ ...exampleLogEntry('again'), insertId })));
      expect(await readLines()).toEqual(['again', 'again']);
    });

    it('keeps the jobs apart, also within one write', async () => {
      await opened.write([
        { ...exampleLogEntry('ours'), insertId: '1' },
        { ...exampleLogEntry('theirs'), jobId: 'other', insertId: '1' },
      ]);
      expect(await readLines()).toEqual(['ours']);
    });

    it('hands out an entry that is larger than most pages, and what follows it', async () => {
      const long = 'x'.repeat(200_000);
      await opened.write(
        [long, `${long}y`, 'z'].map((text, index) => ({ ...exampleLogEntry(text), insertId: `${index}` })),
      );
      expect((await readLines()).map(({ length }) => length)).toEqual([200_000, 200_001, 1]);
    });

    it('has everything again when it is opened anew, and still knows what was written', async () => {
      await writeLines('a', 'b');
      const { cursor } = await read('');
      opened = await opened.reopen();
      await writeLines('b', 'c');
      expect(await readLines(cursor)).toEqual(['c']);
      expect(await readLines()).toEqual(['a', 'b', 'c']);
    });
  });
}
