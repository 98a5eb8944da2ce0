import { DAY_MS } from '#shared/job-file/draft/duration.ts';
import type { JsonSchema, Kind } from '#shared/job-file/fields/kind.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import { readText } from '#shared/job-file/parser/read-values.ts';

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** Longer texts are not durations; the limit bounds the time of pattern matching. */
const TEXT_CHARACTERS_MAX = 100;

const API_PATTERN = /^\d+(\.\d+)?s$/;
const SHORT_PATTERN =
  /^(?:(\d{1,6}(?:\.\d{1,3})?)d)?\s*(?:(\d{1,6}(?:\.\d{1,3})?)h)?\s*(?:(\d{1,9}(?:\.\d{1,3})?)m)?\s*(?:(\d{1,9}(?:\.\d{1,3})?)s)?$/;

/** A duration such as `12h`, `90m` or `1h 30m`, of at most `maxMs`; the draft has the API's form, `43200s`. */
export function duration(maxMs: number): Kind<Located<string> | undefined> {
  return {
    type: `duration, at most ${maxMs / DAY_MS} days`,
    schema: { $ref: '#/$defs/duration' },
    read: (found, findings) => {
      const text = readText(found, findings);
      return text && { ...text, value: toApiDuration(text.value) };
    },
  };
}

export const DURATION_SCHEMA: JsonSchema = {
  type: 'string',
  pattern: '^(\\d+(\\.\\d+)?d)?\\s*(\\d+(\\.\\d+)?h)?\\s*(\\d+(\\.\\d+)?m)?\\s*(\\d+(\\.\\d+)?s)?$',
  minLength: 2,
};

/** `12h`, `2d` or `1h 30m` in the API's form, `43200s`; other texts are unchanged. */
export function toApiDuration(text: string): string {
  const isLong = text.length > TEXT_CHARACTERS_MAX;
  const match = isLong || API_PATTERN.test(text) ? null : SHORT_PATTERN.exec(text.trim());
  if (match === null || match[0] === '') {
    return text;
  }
  const seconds = UNITS.reduce((sum, [, length], index) => sum + Number(match[index + 1] ?? 0) * length, 0);
  return `${Math.round(seconds * 1_000) / 1_000}s`;
}
