import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { anyArchive } from '../../fuzz/any-archive.ts';
import { createArchiveCheck } from '../../fuzz/check-archive.ts';
import {
  paxOf,
  sourceOf,
  type TarEntry,
  TRAINER,
  tarEntryOf,
  tarOf,
  writeChecksum,
} from '../../support/package/build-archives.ts';

/** A valid header with other bytes in a field, and the checksum of these. */
function headerWith(bytes: readonly number[], offset: number): Buffer {
  const header = tarEntryOf({ path: 'x' });
  header.set(bytes, offset);
  writeChecksum(header);
  return header;
}

const long = (type: string, data: string | Uint8Array): TarEntry => ({ path: 'long', type, data });
const file: TarEntry = { path: 'x', data: 'x' };

describe('an archive that readers understand differently', () => {
  it.each([0x81, 0xa0, 0xc1, 0xfe, 0xff])(
    'is rejected if the first byte of a size is %i, instead of read without end',
    async (first) => {
      const { problems } = await inspectPackage(
        sourceOf('t.tar', headerWith([first, ...Array<number>(11).fill(0)], 124)),
      );
      expect(problems).toMatchObject([{ code: 'ENTRY_MALFORMED', message: expect.stringContaining('size') }]);
    },
  );

  it.each<[string, readonly TarEntry[]]>([
    ['two long names', [long('L', 'one'), long('L', 'two'), file]],
    ['two headers of attributes', [long('x', paxOf({ path: 'one' })), long('x', paxOf({ path: 'two' })), file]],
    ['a long name before attributes', [long('L', 'one'), long('x', paxOf({ path: 'two' })), file]],
    ['attributes before a long name', [long('x', paxOf({ path: 'one' })), long('L', 'two'), file]],
    ['a name of type N', [long('N', 'one'), file]],
    ['attributes of no entry', [long('x', paxOf({ path: 'one' }))]],
    ['an empty name', [long('x', paxOf({ path: '' })), file]],
    ['a size in words', [long('x', paxOf({ size: '1_0' })), file]],
    ['another character set', [long('x', paxOf({ hdrcharset: 'BINARY' })), file]],
    ['attributes whose length is wrong', [long('x', '9 path=one\n'), file]],
    [
      'two global headers, of which the first renames',
      [long('g', paxOf({ path: 'one' })), long('g', paxOf({ comment: 'c' })), file],
    ],
  ])('is rejected with %s', async (_, entries) => {
    const { problems } = await inspectPackage(sourceOf('t.tar', tarOf([...TRAINER, ...entries])));
    expect(problems).toMatchObject([{ code: 'ENTRY_MALFORMED' }]);
  });

  it('is rejected with entries after its end', async () => {
    const bytes = Buffer.concat([tarOf(TRAINER), tarOf([file])]);
    const { problems } = await inspectPackage(sourceOf('t.tar', bytes));
    expect(problems).toMatchObject([{ code: 'ENTRY_MALFORMED', message: 'The tar has data after its end.' }]);
  });
});

it('an inspection ends with a verdict although a store stops sending', async () => {
  const bytes = tarOf(TRAINER);
  const source = { ...sourceOf('t.tar', bytes), open: async () => new Readable({ read: () => undefined }) };
  const { problems } = await inspectPackage(source, { msMax: 20 });
  expect(problems).toMatchObject([{ code: 'INSPECTION_TIMED_OUT', message: 't.tar could not be read within 0.02 s.' }]);
});

describe('intake and agent', () => {
  let archives: Awaited<ReturnType<typeof createArchiveCheck>>;

  beforeAll(async () => {
    archives = await createArchiveCheck();
  });
  afterAll(() => archives.close());

  it('see the same files in every archive that intake accepts', async () => {
    const verdicts = { accepted: 0, rejected: 0 };
    const property = fc.asyncProperty(anyArchive, async (archive) => {
      verdicts[await archives.check(archive)] += 1;
    });
    await fc.assert(property, { numRuns: 2_000, seed: 1 });
    expect(verdicts.accepted).toBeGreaterThan(400);
  });
});
