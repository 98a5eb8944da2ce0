import { NON_FINITE_VALUES } from '#shared/domain/replica.ts';
import type { SeriesKind } from '#shared/protocol/metric-series.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Where agents write the histories of metrics, below the job directory (vm_agent/metrics/series/series_upload.py). */
export const SERIES_PREFIX = 'dropforge-metrics/';

const SERIES_NAME_CHARS_MAX = 128;
const POINTS_PER_LINE_MAX = 100_000;
const PART_NAME =
  /^attempt-([1-9]\d{0,5})-([a-z][a-z-]{0,30}-\d{1,5})-boot-(\d{4})-(\d{6})\.(metrics|system)\.jsonl\.gz$/;

/** One object with points of one replica, in the order in which they were written. */
export type SeriesPartName = {
  readonly attempt: number;
  readonly replica: string;
  readonly boot: number;
  readonly number: number;
  readonly kind: SeriesKind;
};

/** Points of one series, by increasing time. */
export type SeriesColumns = {
  readonly name: string;
  /** Null for system series. */
  readonly steps: Float64Array | null;
  /** Milliseconds since the Unix epoch. */
  readonly times: Float64Array;
  readonly values: Float64Array;
};

/** The series and points that were not kept of one boot until a line of it was written. */
export type SeriesOmission = { readonly series: number; readonly points: number };

/** Parses the last segment of an object's name; undefined if no agent has written it. */
export function parsePartName(name: string): SeriesPartName | undefined {
  const [, attempt, replica, boot, number, kind] = PART_NAME.exec(name) ?? [];
  if (attempt === undefined || replica === undefined) {
    return undefined;
  }
  return {
    attempt: Number(attempt),
    replica,
    boot: Number(boot),
    number: Number(number),
    kind: kind === 'system' ? 'SYSTEM' : 'PROGRAM',
  };
}

/** Parses one line of a part; undefined if it is not valid. Programs can write such objects, too. */
export function parsePartLine(line: string): SeriesColumns | { readonly omitted: SeriesOmission } | undefined {
  const body = isFlat(line) ? parseJson(line) : undefined;
  if (typeof body !== 'object' || body === null) {
    return undefined;
  }
  const { name, at, times, steps, values, omitted } = body as Readonly<Record<string, unknown>>;
  if (omitted !== undefined) {
    return parseOmission(omitted);
  }
  if (typeof name !== 'string' || name === '' || name.length > SERIES_NAME_CHARS_MAX || typeof at !== 'number') {
    return undefined;
  }
  const columns = {
    name,
    times: toColumn(times, (time) => readFinite(time, at)),
    steps: steps === undefined ? null : toColumn(steps, (step) => readFinite(step)),
    values: toColumn(values, readValue),
  };
  const { length = 0 } = columns.values ?? {};
  const isEven = columns.times?.length === length && (columns.steps === null || columns.steps?.length === length);
  return isEven && length > 0 ? (columns as SeriesColumns) : undefined;
}

/** Whether a line has no more lists than an agent writes, and brackets in its name. Millions of them take long to parse. */
function isFlat(line: string): boolean {
  let at = -1;
  for (let count = 0; count <= SERIES_NAME_CHARS_MAX + 3; count += 1) {
    at = line.indexOf('[', at + 1);
    if (at === -1) {
      return true;
    }
  }
  return false;
}

function parseOmission(omitted: unknown) {
  const { series, points } = Object(omitted) as Readonly<Record<string, unknown>>;
  const isValid = Number.isSafeInteger(series) && Number.isSafeInteger(points);
  return isValid
    ? { omitted: { series: Math.max(0, Number(series)), points: Math.max(0, Number(points)) } }
    : undefined;
}

function toColumn(given: unknown, read: (value: unknown) => number | undefined): Float64Array | undefined {
  if (!Array.isArray(given) || given.length > POINTS_PER_LINE_MAX) {
    return undefined;
  }
  const column = new Float64Array(given.length);
  for (let index = 0; index < given.length; index += 1) {
    const number = read(given[index]);
    if (number === undefined) {
      return undefined;
    }
    column[index] = number;
  }
  return column;
}

const readFinite = (value: unknown, offset = 0) =>
  typeof value === 'number' && Number.isFinite(value + offset) ? value + offset : undefined;

const readValue = (value: unknown) =>
  typeof value === 'number' || NON_FINITE_VALUES.some((one) => one === value) ? Number(value) : undefined;
