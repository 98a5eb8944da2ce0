import { formatCsv } from '#cli/render/format-csv.ts';
import { readField } from '#cli/render/read-field.ts';

/** The value of `--format`: text, or one of gcloud's machine-readable formats. */
export type ResultFormat =
  | { readonly kind: 'text' | 'json' | 'yaml' }
  /** A row per result, after a row of names; all fields if none are named: `csv(state,placement.zone)`. */
  | { readonly kind: 'csv'; readonly fields: readonly string[] }
  /** One line per result, with the fields' values separated by tabs: `value(state,placement.zone)`. */
  | { readonly kind: 'value'; readonly fields: readonly string[] };

const FIELD = /^[\w-]+(\.[\w-]+)*$/;

/** Parses the value of `--format`; undefined if it is invalid. */
export function parseResultFormat(text: string): ResultFormat | undefined {
  if (text === 'text' || text === 'json' || text === 'yaml') {
    return { kind: text };
  }
  if (text === 'table') {
    return { kind: 'text' };
  }
  if (text === 'csv') {
    return { kind: 'csv', fields: [] };
  }
  const [, kind, list] = /^(value|csv)\((.+)\)$/.exec(text) ?? [];
  const fields = list?.split(',').map((field) => field.trim());
  return fields?.every((field) => FIELD.test(field)) ? { kind: kind === 'csv' ? 'csv' : 'value', fields } : undefined;
}

/** Returns a function that formats one result after the other. The YAML library is loaded only if it is needed. */
export async function createResultWriter(
  format: ResultFormat,
): Promise<(result: { readonly json: unknown; readonly text: string }) => string> {
  switch (format.kind) {
    case 'text':
      return ({ text }) => text;
    case 'json':
      return ({ json }) => JSON.stringify(json);
    case 'value':
      return ({ json }) =>
        listOf(json)
          .map((item) => `${format.fields.map((field) => describeValue(readField(item, field))).join('\t')}\n`)
          .join('');
    case 'csv': {
      let fields = format.fields;
      let count = 0;
      return ({ json }) => {
        const rows = listOf(json);
        const { text, fields: found } = formatCsv(rows, { fields, hasHead: count === 0 });
        count += 1;
        // The rows of later results have the columns of the first one.
        fields = found;
        return text;
      };
    }
    case 'yaml': {
      const {
        default: { stringify },
      } = await import('yaml');
      let count = 0;
      const separatorOf = (isInList: boolean) => (count++ > 0 || isInList ? '---\n' : '');
      return ({ json }) =>
        listOf(json)
          .map((item) => `${separatorOf(Array.isArray(json))}${stringify(item)}`)
          .join('');
    }
  }
}

function listOf(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [json];
}

/** Formats a value as gcloud does: missing values are empty, list items are separated by semicolons. */
function describeValue(value: unknown): string {
  if (Array.isArray(value)) {
    return value.map(describeValue).join(';');
  }
  return value === null || value === undefined
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value).replaceAll(/[\t\n]/g, ' ');
}
