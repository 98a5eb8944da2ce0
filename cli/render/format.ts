import { relative } from 'node:path';
import type { Output } from '#cli/core/command.ts';
import { paint } from '#cli/render/paint.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';

const TIME_UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** Formats a duration with its two largest units: `1 h 5 min`, `48 s`, `0.8 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 10_000) {
    return `${(durationMs / 1_000).toFixed(1)} s`;
  }
  const roundedMs = Math.round(durationMs / 1_000) * 1_000;
  const first = TIME_UNITS.findIndex(({ ms }) => roundedMs >= ms);
  let restMs = roundedMs;
  const parts = TIME_UNITS.slice(first, first + 2).map(({ name, ms }) => {
    const count = Math.floor(restMs / ms);
    restMs -= count * ms;
    return count === 0 ? '' : `${count} ${name}`;
  });
  return parts.filter(Boolean).join(' ');
}

/** Formats a time as relative and absolute: `3 min ago (2026-11-21 06:44:49 UTC)`. */
export function formatMoment(time: string, nowMs: number): string {
  return `${formatAgo(time, nowMs)} (${formatUtc(time)})`;
}

export function formatAgo(time: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(time);
  // Clock skew between machines can make the difference negative.
  return agoMs < 1_000 ? 'just now' : `${formatDuration(agoMs)} ago`;
}

export function formatUtc(time: string): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a size: `512 bytes`, `1.5 GiB`. */
export function formatBytes(sizeBytes: number): string {
  let size = sizeBytes;
  let unit = 0;
  while (size >= 1_024 && unit < BYTE_UNITS.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${BYTE_UNITS[unit]}`;
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
