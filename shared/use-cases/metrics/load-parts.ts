import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { SeriesPart } from '#shared/use-cases/metrics/list-parts.ts';
import type { PartCache } from '#shared/use-cases/metrics/part-cache.ts';

export type MetricPorts = { readonly objects: ObjectStore };

/** Requests at once, and therefore parts in memory that are not in the cache. */
const PARALLEL_COUNT = 16;
/** Compressed, of one request: some ten million points. */
const READ_BYTES_MAX = 128 * 2 ** 20;

/**
 * The parts that one request reads: all that are summarized already, and of the others the newest within the limit of
 * bytes. The next request reads others, until all are summarized.
 */
export function selectReadable(cache: PartCache, parts: readonly SeriesPart[]): readonly SeriesPart[] {
  let bytesLeft = READ_BYTES_MAX;
  const newestFirst = parts.toSorted((a, b) => b.info.updatedAt - a.info.updatedAt);
  const selected = new Set(
    newestFirst.filter((part) => {
      const isReadable = cache.hasSummary(part) || bytesLeft >= part.info.sizeBytes;
      bytesLeft -= cache.hasSummary(part) ? 0 : part.info.sizeBytes;
      return isReadable;
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
