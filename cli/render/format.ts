import { relative } from 'node:path';
import type { Output } from '#cli/core/command.ts';
import { paint } from '#cli/render/paint.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';
import { formatAgo } from '#shared/text/format-time.ts';

/** Formats a time as relative and absolute: `3 min ago (2026-11-21 06:44:49 UTC)`. */
export function formatMoment(time: string, nowMs: number): string {
  return `${formatAgo(time, nowMs)} (${formatUtc(time)})`;
}

export function formatUtc(time: string): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

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
