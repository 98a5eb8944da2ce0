/** A part of a line with the style that its escape sequences ask for; `style` is a class name or empty. */
export type StyledPart = { readonly text: string; readonly style: string };

const COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

/** CSI sequences (ECMA-48, section 5.4), OSC sequences up to their terminator, and other escapes of two characters. */
const [ESC, BEL, CSI] = ['\u001b', '\u0007', '\u009b'];
const ESCAPE = new RegExp(
  [
    String.raw`${ESC}\[([0-9:;<=>?]*)[ -/]*([@-~])`,
    String.raw`${ESC}\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\)?`,
    `${ESC}[ -/]*[0-~]`,
    `${CSI}[0-?]*[ -/]*[@-~]`,
  ].join('|'),
  'g',
);

/** The characters on which a terminal would act, and those that change the direction of text. */
const INVISIBLE = /(?!\t)[\p{Cc}\p{Bidi_Control}\ufeff]/gu;

/**
 * Splits a line into styled parts. Only colors and weight are kept of escape sequences; all others are removed. Of
 * text that overwrites itself after a carriage return, as progress bars do, the last version is shown. Other control
 * characters, and those that reorder text, become visible, such as `<U+202E>`.
 */
export function parseAnsi(line: string): readonly StyledPart[] {
  const parts: StyledPart[] = [];
  let state: Style = PLAIN;
  let from = 0;
  const text = lastVersion(line);
  const add = (to: number) => {
    const shown = text.slice(from, to).replaceAll(INVISIBLE, showCharacter);
    if (shown !== '') {
      parts.push({ text: shown, style: classOf(state) });
    }
  };
  for (const match of text.matchAll(ESCAPE)) {
    add(match.index);
    from = match.index + match[0].length;
    if (match[2] === 'm') {
      state = applyCodes(state, match[1] ?? '');
    }
  }
  add(text.length);
  return parts;
}

/** The line as text alone: for search and for copies. */
export function plainText(line: string): string {
  return lastVersion(line).replaceAll(ESCAPE, '').replaceAll(INVISIBLE, showCharacter);
}

function lastVersion(line: string): string {
  const trimmed = line.replace(/[\r\n]+$/, '');
  return trimmed.slice(trimmed.lastIndexOf('\r') + 1);
}

function showCharacter(character: string): string {
  return `<U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

type Style = { readonly color: string; readonly isBold: boolean; readonly isFaint: boolean };

const PLAIN: Style = { color: '', isBold: false, isFaint: false };

/** Select Graphic Rendition (ECMA-48, section 8.3.117): colors 30 to 37 and 90 to 97, bold and faint. */
function applyCodes(state: Style, codes: string): Style {
  let next = state;
  const list = codes.split(/[;:]/).map(Number);
  for (let index = 0; index < list.length; index += 1) {
    const code = list[index] ?? 0;
    if (code === 0) {
      next = PLAIN;
    } else if (code === 1) {
      next = { ...next, isBold: true };
    } else if (code === 2) {
      next = { ...next, isFaint: true };
    } else if (code === 22) {
      next = { ...next, isBold: false, isFaint: false };
    } else if (code === 39) {
      next = { ...next, color: '' };
    } else if (code === 38 || code === 48) {
      // 38;5;N and 38;2;R;G;B: their arguments are no codes.
      index += list[index + 1] === 5 ? 2 : 4;
    } else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      next = { ...next, color: COLORS[code % 10] ?? '' };
    }
  }
  return next;
}

function classOf({ color, isBold, isFaint }: Style): string {
  return [color === '' ? '' : `ansi-${color}`, isBold ? 'ansi-bold' : '', isFaint ? 'ansi-faint' : '']
    .filter((name) => name !== '')
    .join(' ');
}
