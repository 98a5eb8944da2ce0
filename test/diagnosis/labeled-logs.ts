import { readFileSync } from 'node:fs';

/** A log whose label is known. */
export type LabeledLog = { readonly id: string; readonly label: string; readonly text: string };

/** Rows without a label or a text, and lines that are not JSON, are counted instead of read. */
export type LabeledLogs = { readonly rows: readonly LabeledLog[]; readonly skipped: number };

/** Reads JSON lines with `id`, `label` and `text`; other fields are ignored. `none` is the label of a log without a failure. */
export function readLabeledLogs(file: string | URL): LabeledLogs {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const rows = lines.flatMap((line, index) => parseRow(line, `line ${index + 1}`));
  return { rows, skipped: lines.length - rows.length };
}

function parseRow(line: string, fallbackId: string): readonly LabeledLog[] {
  const row = parseObject(line);
  const { id, label, text } = row ?? {};
  const whole = Array.isArray(text) ? text.join('\n') : text;
  if (typeof label !== 'string' || label === '' || typeof whole !== 'string') {
    return [];
  }
  return [{ id: typeof id === 'string' || typeof id === 'number' ? String(id) : fallbackId, label, text: whole }];
}

function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
