import { readField } from '#cli/render/read-field.ts';

type CsvOptions = {
  /** The columns, as paths such as `parameters.learning_rate`; if empty, every scalar and list of the rows. */
  readonly fields: readonly string[];
  readonly hasHead: boolean;
};

/** Formats rows as CSV (RFC 4180, with line feeds), and returns the columns. */
export function formatCsv(
  rows: readonly unknown[],
  { fields: given, hasHead }: CsvOptions,
): { readonly text: string; readonly fields: readonly string[] } {
  const flat = rows.map((row) => new Map(flatten(row, '')));
  const fields = given.length > 0 ? given : [...new Set(flat.flatMap((row) => [...row.keys()]))];
  const lines = flat.map((row, index) =>
    fields.map((field) => quoteCell(row.has(field) ? row.get(field) : readField(rows[index], field))).join(','),
  );
  const head = hasHead ? [fields.map(quoteCell).join(',')] : [];
  return { text: [...head, ...lines].map((line) => `${line}\n`).join(''), fields };
}

/** The scalars and lists of a value by their paths. */
function flatten(value: unknown, path: string): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, item]) => flatten(item, path === '' ? name : `${path}.${name}`))
    : [[path, value]];
}

function quoteCell(value: unknown): string {
  const isScalar = typeof value !== 'object' || value === null;
  const scalar = typeof value === 'string' ? withoutFormula(value) : String(value);
  const text = value === null || value === undefined ? '' : isScalar ? scalar : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Texts come from job files and from the output of programs, and spreadsheets run formulas: an apostrophe makes a text
 * of what would be one (OWASP, "CSV Injection"). Numbers stay numbers.
 */
function withoutFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) && !Number.isFinite(Number(text)) ? `'${text}` : text;
}
