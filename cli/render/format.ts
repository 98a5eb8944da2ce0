import { relative } from 'node:path';
import type { Output } from '#cli/core/command.ts';
import { paint } from '#cli/render/paint.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';

/** Returns the path relative to the working directory if it is inside it, otherwise unchanged. */
export function shortenPath(cwd: string, path: string): string {
  const relativePath = relative(cwd, path);
  return relativePath === '' || relativePath.startsWith('..') ? path : relativePath;
}

/** Formats a log entry as one line: time, replica, text. Messages of the VM agent are labeled `agent`. */
export function formatLogEntry(entry: LogEntry, output: Pick<Output, 'hasColors'> = { hasColors: false }): string {
  const { at, replica, stream, severity, text } = entry;
  const time = new Date(at).toISOString().slice(11, 23);
  const origin = stream === 'agent' ? `${replica} agent` : replica;
  const line = severity === 'ERROR' ? paint(text, 'red', output) : text;
  return `${paint(`${time} ${origin}`, 'dim', output)}  ${line}`;
}

/** Formats facts as indented lines; those without a value are omitted. */
export function formatFacts(facts: readonly (readonly [name: string, value: string | null])[]): readonly string[] {
  return facts
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `  ${name.padEnd(12)}${value?.replaceAll(/\n(?! )/g, `\n${' '.repeat(14)}`)}`);
}

/** A title with a text of one or more lines below it. */
export function describeBlock(title: string, text: string): readonly string[] {
  return [title, ...text.split('\n').map((line) => `  ${line}`)];
}

/** Joins the sections that have lines with an empty line between them. */
export function joinSections(sections: readonly (readonly string[])[]): string {
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}
