import { styleText } from 'node:util';
import type { Output } from '#cli/core/command.ts';

const STATE_STYLES: Readonly<Record<string, 'green' | 'red' | 'yellow' | 'cyan'>> = {
  SUCCEEDED: 'green',
  FAILED: 'red',
  REFUSED: 'red',
  CANCELLING: 'yellow',
  CANCELLED: 'yellow',
  RUNNING: 'cyan',
};

/** Colors a job state, if the output supports colors. The text stays the same. */
export function paintState(state: string, output: Pick<Output, 'hasColors'>): string {
  const style = STATE_STYLES[state];
  return style === undefined ? state : paint(state, style, output);
}

export function paint(
  text: string,
  style: 'green' | 'red' | 'yellow' | 'cyan' | 'bold' | 'dim',
  output: Pick<Output, 'hasColors'>,
): string {
  return output.hasColors ? styleText(style, text, { validateStream: false }) : text;
}
