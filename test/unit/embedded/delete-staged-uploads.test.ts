import { expect, it } from 'vitest';
import { deleteStagedUploads } from '#infra/embedded/cloud-storage/delete-staged-uploads.ts';
import { bucket, makeDirectoryForEachTest, write } from '../../support/contract/directory-object-store-under-test.ts';

const DAY_MS = 86_400_000;

const directory = makeDirectoryForEachTest();

/** Seven parts that are three days old, then two of today, of which the first is before them by name. */
async function open() {
  const { store } = directory.open();
  const writeAll = async (names: readonly string[]) => {
    for (const name of names) {
      await write(store, 'x', { bucket, name });
    }
  };
  await writeAll([...Array.from({ length: 7 }, (_, part) => `_uploads/m/parts/${part}`), 'digits/model']);
  directory.clock.ms += 3 * DAY_MS;
  await writeAll(['_uploads/a/parts/1', '_uploads/b/parts/1', '_uploads/z/parts/1']);
  const namesOf = () => store.page({ bucket, prefix: '', countMax: 100 }).objects.map(({ name }) => name);
  return { store, namesOf, now: directory.clock.ms };
}

it('deletes uploads that were not started for two days, on all pages, and nothing else', async () => {
  const { store, namesOf, now } = await open();
  await deleteStagedUploads(store, { bucket, now: now - 2 * DAY_MS });
  expect(namesOf()).toHaveLength(11);

  await deleteStagedUploads(store, { bucket, now, pageCount: 2 });

  expect(namesOf()).toEqual(['_uploads/a/parts/1', '_uploads/b/parts/1', '_uploads/z/parts/1', 'digits/model']);
});

it('deletes a limited number at once, and the others in the next runs', async () => {
  const { store, namesOf, now } = await open();
  const counts: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    await deleteStagedUploads(store, { bucket, now, pageCount: 2, deletedCountMax: 3 });
    counts.push(namesOf().length);
  }
  expect(counts).toEqual([8, 5, 4]);
});
