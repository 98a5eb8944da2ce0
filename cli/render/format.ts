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

/** The two largest units of a length of time: `1 h 5 min`, `48 s`, `0.8 s`. */
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

/** A moment both ways, for people: `3 min ago (2026-11-21 06:44:49 UTC)`. */
export function formatMoment(time: string, nowMs: number): string {
  return `${formatAgo(time, nowMs)} (${formatUtc(time)})`;
}

export function formatAgo(time: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(time);
  // The clocks of two machines are never quite together.
  return agoMs < 1_000 ? 'just now' : `${formatDuration(agoMs)} ago`;
}

export function formatUtc(time: string): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A size for people: `512 bytes`, `1.5 GiB`. */
export function formatBytes(sizeBytes: number): string {
  let size = sizeBytes;
  let unit = 0;
  while (size >= 1_024 && unit < BYTE_UNITS.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

/** A path as it is best shown and typed: from the working directory when it lies below, in full otherwise. */
export function shortenPath(cwd: string, path: string): string {
  const below = relative(cwd, path);
  return below === '' || below.startsWith('..') ? path : below;
}

/** One line: when, who, and what; what the agent says of itself is marked as its own. */
export function formatLogEntry(entry: LogEntry, output: Pick<Output, 'hasColours'> = { hasColours: false }): string {
  const { at, replica, stream, severity, text } = entry;
  const time = new Date(at).toISOString().slice(11, 23);
  const who = stream === 'agent' ? `${replica} agent` : replica;
  const line = severity === 'ERROR' ? paint(text, 'red', output) : text;
  return `${paint(`${time} ${who}`, 'dim', output)}  ${line}`;
}
