import type { Located } from '#shared/job-file/parser/findings.ts';

/** A value as a reader gives it. */
export function said<T>(value: T, path: string, line?: number): Located<T> {
  return { value, path, ...(line !== undefined && { line }) };
}

/** A list as a reader gives it, each item with its place. */
export function listed(values: readonly string[], path: string): readonly Located<string>[] {
  return values.map((value, index) => said(value, `${path}[${index}]`));
}
