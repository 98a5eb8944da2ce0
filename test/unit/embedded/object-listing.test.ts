import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  findPrefixEnd,
  type ObjectIndex,
  openObjectIndex,
} from '../../../infra/embedded/cloud-storage/store/object-index.ts';
import { type ListQuery, listPage } from '../../../infra/embedded/cloud-storage/store/object-listing.ts';
import { DEFAULT_ATTRIBUTES } from '../../../infra/embedded/cloud-storage/store/stored-object.ts';
import { type Database, openDatabase } from '../../../infra/embedded/data-dir/database.ts';

const bucket = 'bucket';
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('a listing', () => {
  let database: Database;
  let index: ObjectIndex;

  beforeEach(() => {
    database = openDatabase(':memory:');
    index = openObjectIndex(database);
  });
  afterEach(() => database.close());

  function fill(names: readonly string[]): void {
    database.sql.exec('delete from objects');
    for (const name of names) {
      const content = { sizeBytes: 0, crc32c: 'AAAAAA==', md5: null, componentCount: null };
      index.insert({ blobId: 'none', object: { bucket, name, ...DEFAULT_ATTRIBUTES, ...content } }, 1);
    }
  }

  function listAll(query: Omit<ListQuery, 'bucket'>): readonly { objects: string[]; prefixes: string[] }[] {
    const pages: { objects: string[]; prefixes: string[] }[] = [];
    for (let after: ListQuery['after'] | null; after !== null; ) {
      const { objects, prefixes, nextPosition }: ReturnType<typeof listPage> = listPage(index, {
        ...query,
        bucket,
        after,
      });
      pages.push({ objects: objects.map(({ name }) => name), prefixes: [...prefixes] });
      after = nextPosition;
    }
    return pages;
  }

  it('equals a naive implementation for pages of any size', () => {
    const nameOf = fc.string({
      unit: fc.constantFrom('a', 'b', '/', 'é', '\uffee', '\u{1f600}'),
      minLength: 1,
      maxLength: 6,
    });
    const queryOf = fc.record({
      prefix: fc.string({ unit: fc.constantFrom('a', '/', 'é'), maxLength: 2 }),
      delimiter: fc.constantFrom(undefined, '/', 'a/'),
      countMax: fc.integer({ min: 1, max: 4 }),
      startOffset: fc.option(nameOf, { nil: undefined }),
      endOffset: fc.option(nameOf, { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.uniqueArray(nameOf, { maxLength: 15 }), queryOf, (names, query) => {
        fill(names);
        const { prefix, delimiter, startOffset, endOffset, countMax } = query;
        const within = names.filter(
          (name) =>
            name.startsWith(prefix) &&
            (startOffset === undefined || byBytes(name, startOffset) >= 0) &&
            (endOffset === undefined || byBytes(name, endOffset) < 0),
        );
        const cut = (name: string): number => (delimiter === undefined ? -1 : name.indexOf(delimiter, prefix.length));
        const prefixes = new Set(
          within.filter((name) => cut(name) >= 0).map((name) => name.slice(0, cut(name) + (delimiter ?? '').length)),
        );
        const pages = listAll(query);
        expect(pages.flatMap((page) => page.objects)).toEqual(within.filter((name) => cut(name) === -1).sort(byBytes));
        expect(pages.flatMap((page) => page.prefixes)).toEqual([...prefixes].sort(byBytes));
        expect(pages.slice(0, -1).every((page) => page.objects.length + page.prefixes.length === countMax)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('reads one row per prefix, however many objects there are', () => {
    fill(Array.from({ length: 2_000 }, (_, count) => `${count % 2}/${count}`));
    let rows = 0;
    const counting: ObjectIndex = {
      ...index,
      *scan(query) {
        for (const object of index.scan(query)) {
          rows++;
          yield object;
        }
      },
    };
    expect(listPage(counting, { bucket, prefix: '', delimiter: '/', countMax: 10 }).prefixes).toEqual(['0/', '1/']);
    expect(rows).toBe(2);
  });

  it('searches its range in an index, with and without noncurrent generations', () => {
    const scans: string[] = [];
    const prepare = database.sql.prepare.bind(database.sql);
    database.sql.prepare = (text) => {
      scans.push(...(text.includes(':before') ? [text] : []));
      return prepare(text);
    };
    openObjectIndex(database);
    const plans = scans.map((text) =>
      prepare(`explain query plan ${text}`)
        .all()
        .map(({ detail }) => String(detail)),
    );
    expect(plans).toEqual([
      ['SEARCH objects USING INDEX objects_live (bucket=? AND name>? AND name<?)'],
      ['SEARCH objects USING INDEX objects_by_name (bucket=? AND name>? AND name<?)'],
    ]);
  });

  it.each([
    ['a/', 'a0'],
    ['a\ud7ff', 'a\ue000'],
    ['a\u{10ffff}', 'b'],
    ['\u{10ffff}', undefined],
    ['', undefined],
  ])('computes the end of the prefix %j: %j', (prefix, end) => {
    expect(findPrefixEnd(prefix)).toBe(end);
  });
});
