import type { KeyedText } from '#shared/job-file/draft/job-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';

/** The fields that have a value; `{}` if none has. */
export function omitUndefined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The fields that have a value; undefined if none has. */
export function omitEmpty(fields: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const present = omitUndefined(fields);
  return Object.keys(present).length === 0 ? undefined : present;
}

/** The list; undefined if it is empty. */
export function omitEmptyList<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** The values of a list; undefined if there is no list. */
export function valuesOf<T>(list: readonly Located<T>[] | undefined): readonly T[] | undefined {
  return list?.map(({ value }) => value);
}

/**
 * Names with texts; undefined if there are none. A Map, which YAML prints as a mapping: an object would move names like
 * `10` to the front.
 */
export function textMapOf(list: readonly Located<KeyedText>[]): ReadonlyMap<string, string> | undefined {
  return list.length === 0 ? undefined : new Map(list.map(({ value: { key, text } }) => [key, text]));
}
