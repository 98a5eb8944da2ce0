import type { Output } from '#cli/core/command.ts';
import { paint } from '#cli/render/paint.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';

/** One line: when, who, and what; what the agent says of itself is marked as its own. */
export function formatLogEntry(entry: LogEntry, output: Pick<Output, 'hasColours'> = { hasColours: false }): string {
  const { at, replica, stream, severity, text } = entry;
  const time = new Date(at).toISOString().slice(11, 23);
  const who = stream === 'agent' ? `${replica} agent` : replica;
  const line = severity === 'ERROR' ? paint(text, 'red', output) : text;
  return `${paint(`${time} ${who}`, 'dim', output)}  ${line}`;
}
