import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { parsePartLine, type SeriesColumns, type SeriesOmission } from '#shared/protocol/series-part.ts';
import type { SeriesPart } from '#shared/views/metrics/list-parts.ts';
import { RecentlyUsed } from '#shared/views/metrics/recently-used.ts';

/** The points of one series in one part. */
export type SeriesSummary = {
  readonly name: string;
  readonly pointCount: number;
  readonly last: { readonly step: number | null; readonly at: number; readonly value: number };
  /** The least and the greatest of the finite values; null if there are none. */
  readonly min: number | null;
  readonly max: number | null;
};

export type PartSummary = {
  readonly series: readonly SeriesSummary[];
  readonly omission: SeriesOmission | null;
  /** Lines that no agent has written, or that were left out because the part has too many. */
  readonly ignoredCount: number;
};

export type PartContent = PartSummary & { readonly columns: ReadonlyMap<string, readonly SeriesColumns[]> };

/**
 * An agent closes a part at 1 MiB, behind at most 50,000 points. A program could write one that decompresses to
 * gigabytes, or whose numbers take many times their text in memory.
 */
const PLAIN_BYTES_MAX = 4 * 2 ** 20;
const POINTS_PER_PART_MAX = 300_000;
const LINES_PER_PART_MAX = 100_000;
/** A part with more lines that no agent has written is not read to its end. */
const INVALID_LINES_MAX = 100;
const NAMES_PER_PART_MAX = 2_000;
/** 24 bytes each. */
const CACHED_POINTS_MAX = 3_000_000;
const CACHED_SUMMARIES_MAX = 200_000;

/**
 * Reads parts, and keeps those that were read last: an object's generation never changes, so that a request after the
 * first one reads only what is new. Memory is bounded by the constants above.
 */
export class PartCache {
  readonly #contents = new RecentlyUsed<PartContent>(CACHED_POINTS_MAX, pointCountOf);
  readonly #summaries = new RecentlyUsed<PartSummary>(CACHED_SUMMARIES_MAX, ({ series }) => 1 + series.length);

  async summarize(objects: ObjectStore, part: SeriesPart): Promise<PartSummary> {
    return this.#summaries.get(keyOf(part)) ?? (await this.read(objects, part));
  }

  /** A part that is deleted or is not one has no points. */
  async read(objects: ObjectStore, part: SeriesPart): Promise<PartContent> {
    const key = keyOf(part);
    const cached = this.#contents.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const content = decodePart(await readText(objects, part));
    const { columns: _, ...summary } = content;
    this.#contents.set(key, content);
    this.#summaries.set(key, summary);
    return content;
  }

  hasSummary(part: SeriesPart): boolean {
    return this.#summaries.has(keyOf(part));
  }

  hasContent(part: SeriesPart): boolean {
    return this.#contents.has(keyOf(part));
  }
}

function keyOf({ info }: SeriesPart): string {
  return `${info.bucket}/${info.name}#${info.generation}`;
}

function pointCountOf({ series }: Pick<PartSummary, 'series'>): number {
  return series.reduce((sum, { pointCount }) => sum + pointCount, 0);
}

/** The text of a part; empty if it was deleted. */
async function readText(objects: ObjectStore, { info }: SeriesPart): Promise<string> {
  const stream = await objects.read(info, { generation: info.generation });
  if (stream === undefined) {
    return '';
  }
  const compressed = await buffer(stream);
  try {
    const plain = await promisify(gunzip)(compressed, { maxOutputLength: PLAIN_BYTES_MAX });
    return plain.toString('utf8');
  } catch {
    // Not compressed, damaged, or too large: an agent has not written it.
    return 'not a part';
  }
}

function decodePart(text: string): PartContent {
  const columns = new Map<string, SeriesColumns[]>();
  let omission: SeriesOmission | null = null;
  let ignoredCount = 0;
  let pointCount = 0;
  for (const line of linesOf(text)) {
    const parsed = line === '' ? null : parsePartLine(line);
    pointCount += parsed && 'values' in parsed ? parsed.values.length : 0;
    if (pointCount > POINTS_PER_PART_MAX || ignoredCount > INVALID_LINES_MAX) {
      ignoredCount += 1;
      break;
    }
    if (parsed === undefined) {
      ignoredCount += 1;
    } else if (parsed !== null && 'omitted' in parsed) {
      omission = parsed.omitted;
    } else if (parsed !== null) {
      const known = columns.get(parsed.name);
      if (known !== undefined) {
        known.push(parsed);
      } else if (columns.size < NAMES_PER_PART_MAX) {
        columns.set(parsed.name, [parsed]);
      } else {
        ignoredCount += 1;
      }
    }
  }
  return { columns, series: [...columns.values()].flatMap(summarize), omission, ignoredCount };
}

function* linesOf(text: string): Generator<string> {
  let start = 0;
  for (let count = 0; start < text.length && count < LINES_PER_PART_MAX; count += 1) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    yield text.slice(start, end);
    start = end + 1;
  }
}

function summarize(columns: readonly SeriesColumns[]): readonly SeriesSummary[] {
  const last = columns.at(-1);
  const index = (last?.values.length ?? 0) - 1;
  if (last === undefined || index < 0) {
    return [];
  }
  let [min, max, pointCount] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (const { values } of columns) {
    pointCount += values.length;
    for (const value of values) {
      if (Number.isFinite(value)) {
        min = Math.min(min, value);
        max = Math.max(max, value);
      }
    }
  }
  const hasFinite = min <= max;
  return [
    {
      name: last.name,
      pointCount,
      last: { step: last.steps?.[index] ?? null, at: last.times[index] ?? 0, value: last.values[index] ?? Number.NaN },
      min: hasFinite ? min : null,
      max: hasFinite ? max : null,
    },
  ];
}
