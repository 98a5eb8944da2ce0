import type { Located } from '#shared/job-file/parser/findings.ts';

/** A value with its path, as parsers return it. */
export function located<T>(value: T, path: string, line?: number): Located<T> {
  return { value, path, ...(line !== undefined && { line }) };
}

/** A list whose items have their own paths, as parsers return it. */
export function listed(values: readonly string[], path: string): readonly Located<string>[] {
  return values.map((value, index) => located(value, `${path}[${index}]`));
}
