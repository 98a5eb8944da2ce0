import type { Located } from '#shared/job-file/parser/findings.ts';

/** The fields that something is said in; undefined where that is none of them. */
export function printSaid(fields: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const said = printFields(fields);
  return Object.keys(said).length === 0 ? undefined : said;
}

/** The fields that something is said in: `{}` where a message is there, and nothing in it. */
export function printFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The values of a list; undefined where there is no list. */
export function printValues<T>(list: readonly Located<T>[] | undefined): readonly T[] | undefined {
  return list?.map(({ value }) => value);
}

/** What is in a list; undefined where that is nothing. */
export function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
