import type { Catalog } from '#shared/catalog/catalog.ts';

/** The format of `machines.json`: one line per machine type and list of zones, so that diffs are readable. */
export function printCatalog(catalog: Catalog): string {
  const fields = Object.entries(catalog).map(([key, value]) => `  ${JSON.stringify(key)}: ${printField(value)}`);
  return `{\n${fields.join(',\n')}\n}\n`;
}

function printField(value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    return JSON.stringify(value);
  }
  if (!Array.isArray(value)) {
    const lines = Object.entries(value).map(([key, entry]) => `    ${JSON.stringify(key)}: ${printLine(entry)}`);
    return `{\n${lines.join(',\n')}\n  }`;
  }
  return value.every(isName)
    ? printLine(value)
    : `[\n${value.map((item) => `    ${printLine(item)}`).join(',\n')}\n  ]`;
}

function printLine(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(printLine).join(', ')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([key, entry]) => `${JSON.stringify(key)}: ${printLine(entry)}`);
    return `{${fields.join(', ')}}`;
  }
  return JSON.stringify(value);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && !value.includes(' ');
}
