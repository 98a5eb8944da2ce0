import {
  findPrefixEnd,
  type ObjectIndex,
  type ScanPosition,
} from '#infra/embedded/cloud-storage/store/object-index.ts';
import type { StoredObject } from '#infra/embedded/cloud-storage/store/stored-object.ts';

export type ListQuery = {
  readonly bucket: string;
  readonly prefix: string;
  readonly delimiter?: string | undefined;
  /** Lists names from `startOffset` (inclusive) to `endOffset` (exclusive). */
  readonly startOffset?: string | undefined;
  readonly endOffset?: string | undefined;
  readonly isWithNoncurrent?: boolean;
  /** Whether an object whose name ends with the delimiter is listed beside its prefix, with which it counts as one. */
  readonly isWithPlaceholders?: boolean;
  /** Whether to include an object of this name; if omitted, all are included. */
  readonly isIncluded?: ((name: string) => boolean) | undefined;
  /** The `nextPosition` of the previous page. */
  readonly after?: ScanPosition | undefined;
  readonly countMax: number;
};

export type ListPage = {
  readonly objects: readonly StoredObject[];
  /** Names truncated after the delimiter, without duplicates. */
  readonly prefixes: readonly string[];
  /** Null on the last page. */
  readonly nextPosition: ScanPosition | null;
};

type Entry = { readonly object?: StoredObject; readonly prefix?: string; readonly position: ScanPosition };

const FIRST_POSITION: ScanPosition = { name: '', generation: -1 };

/**
 * Returns one page of a listing in byte order; objects and prefixes both count towards `countMax`.
 * Source: https://cloud.google.com/storage/docs/json_api/v1/objects/list
 */
export function listPage(index: ObjectIndex, query: ListQuery): ListPage {
  const entries: Entry[] = [];
  let isLastPage = true;
  for (const entry of walk(index, query)) {
    if (entries.length === query.countMax) {
      isLastPage = false;
      break;
    }
    entries.push(entry);
  }
  return {
    objects: entries.flatMap(({ object }) => object ?? []),
    prefixes: entries.flatMap(({ prefix }) => prefix ?? []),
    nextPosition: isLastPage ? null : (entries.at(-1)?.position ?? null),
  };
}

/** Skips the objects under a prefix without reading them, so that the cost of a page depends on its entries only. */
function* walk(index: ObjectIndex, query: ListQuery): Generator<Entry> {
  let after: ScanPosition | undefined = query.after ?? FIRST_POSITION;
  while (after !== undefined) {
    const start: ScanPosition = after;
    after = undefined;
    for (const object of index.scan({ ...query, after: start })) {
      if (query.isIncluded?.(object.name) === false) {
        continue;
      }
      const prefix = cutAfterDelimiter(object.name, query);
      if (prefix === undefined) {
        yield { object, position: { name: object.name, generation: Number(object.generation) } };
        continue;
      }
      const prefixEnd = findPrefixEnd(prefix);
      after = prefixEnd === undefined ? undefined : { name: prefixEnd, generation: -1 };
      const isPlaceholder = query.isWithPlaceholders === true && object.name === prefix;
      const position = after ?? { name: object.name, generation: Number.MAX_SAFE_INTEGER };
      yield { prefix, position, ...(isPlaceholder && { object }) };
      break;
    }
  }
}

function cutAfterDelimiter(name: string, { prefix, delimiter }: ListQuery): string | undefined {
  const cut = delimiter === undefined ? -1 : name.indexOf(delimiter, prefix.length);
  return delimiter === undefined || cut === -1 ? undefined : name.slice(0, cut + delimiter.length);
}
