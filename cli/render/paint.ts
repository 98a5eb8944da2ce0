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

/** A job state in its colour, where the output has colours; the word itself never changes. */
export function paintState(state: string, output: Pick<Output, 'hasColours'>): string {
  const style = STATE_STYLES[state];
  return style === undefined ? state : paint(state, style, output);
}

export function paint(
  text: string,
  style: 'green' | 'red' | 'yellow' | 'cyan' | 'bold' | 'dim',
  output: Pick<Output, 'hasColours'>,
): string {
  return output.hasColours ? styleText(style, text, { validateStream: false }) : text;
}
