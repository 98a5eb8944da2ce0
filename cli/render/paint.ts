import { inspect } from 'node:util';
import type { Output } from '#cli/core/command.ts';

type Style = 'green' | 'red' | 'yellow' | 'cyan' | 'bold' | 'dim';

const STATE_STYLES: Readonly<Record<string, Style>> = {
  SUCCEEDED: 'green',
  FAILED: 'red',
  REFUSED: 'red',
  CANCELLING: 'yellow',
  CANCELLED: 'yellow',
  RUNNING: 'cyan',
};

/**
 * A parameter of this process's own escape sequences, which tells them from those that a program or a user has written.
 * Four digits and before the style: libraries which measure text recognize the sequences, and cli-table3, which ends
 * colors by the first parameter, adds none of its own.
 */
const KEY = 1_000 + Math.floor(Math.random() * 9_000);

/** Control characters except line feed and tab, and those that change the direction of text (UAX #9). */
const CONTROLS = new RegExp(
  String.raw`\u001b\[${KEY};(\d+)m|[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]`,
  'g',
);

/** Colors a job state, if the output supports colors. The text stays the same. */
export function paintState(state: string, output: Pick<Output, 'hasColors'>): string {
  const style = STATE_STYLES[state];
  return style === undefined ? state : paint(state, style, output);
}

/** Styles a text for an output of `createVisibleOutput`, if it supports colors. */
export function paint(text: string, style: Style, output: Pick<Output, 'hasColors'>): string {
  const [start, end] = inspect.colors[style] ?? [0, 0];
  return output.hasColors ? `\u001b[${KEY};${start}m${text}\u001b[${KEY};${end}m` : text;
}

/**
 * Returns an output that shows control characters as text, `\x1b`, except for the styles of `paint`: what programs print
 * and users upload must not move the cursor, hide text or change the terminal. Bytes are written as they are.
 */
export function createVisibleOutput(output: Output): Output {
  return { ...output, write: (data) => output.write(typeof data === 'string' ? showControls(data) : data) };
}

/** Replaces control characters with their escapes, and styles of `paint` with those of the terminal. */
export function showControls(text: string): string {
  return text.replaceAll(CONTROLS, (found: string, style: string | undefined) =>
    style === undefined ? escapeControl(found) : `\u001b[${style}m`,
  );
}

/** `\x1b`, or `\u009b` beyond ASCII: JSON leaves the latter as they are, and reads this form back. */
function escapeControl(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x7f ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
