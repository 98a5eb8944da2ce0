import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { SeriesPart } from '#shared/views/metrics/list-parts.ts';

export type MetricPorts = { readonly objects: ObjectStore };

/** Requests at once, and therefore parts in memory that are not in the cache. */
const PARALLEL_COUNT = 8;
/** Compressed, of one request: some ten million points. */
const READ_BYTES_MAX = 128 * 2 ** 20;
/** The most that an agent writes of a kind: parts of a few kilobytes can take a long time to parse. */
const READ_COUNT_MAX = 256;

/** Whether one request reads all of the parts, whatever is in memory. */
export function isReadAtOnce(parts: readonly SeriesPart[]): boolean {
  return selectReadable(parts, () => false).length === parts.length;
}

/**
 * The parts that one request reads: all that are in memory already, and of the others the newest within the limits. The
 * next request reads others, until all are summarized.
 */
export function selectReadable(
  parts: readonly SeriesPart[],
  isInMemory: (part: SeriesPart) => boolean,
): readonly SeriesPart[] {
  let [bytesLeft, countLeft] = [READ_BYTES_MAX, READ_COUNT_MAX];
  const newestFirst = parts.toSorted((a, b) => b.info.updatedAt - a.info.updatedAt);
  const selected = new Set(
    newestFirst.filter((part) => {
      if (isInMemory(part)) {
        return true;
      }
      bytesLeft -= part.info.sizeBytes;
      countLeft -= 1;
      return bytesLeft >= 0 && countLeft >= 0;
    }),
  );
  return parts.filter((part) => selected.has(part));
}

/** Performs the work for each part or job, several at once, and returns the results in the order of the items. */
export async function mapParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = new Array(items.length);
  const entries = items.entries();
  const worker = async () => {
    for (const [index, item] of entries) {
      results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_COUNT }, worker));
  return results;
}
