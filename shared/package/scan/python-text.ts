/** Possible starts of strings and comments. */
const STRING_OR_COMMENT = /["'#]/g;

/**
 * Removes comments and the contents of strings from Python source; line numbers do not change. Does not parse the
 * source, so it never fails; the result for other text is unspecified.
 */
export function blankStrings(source: string): string {
  const kept: string[] = [];
  let from = 0;
  while (from < source.length) {
    STRING_OR_COMMENT.lastIndex = from;
    const start = STRING_OR_COMMENT.exec(source)?.index ?? source.length;
    kept.push(source.slice(from, start));
    const first = source.charAt(start);
    if (first === '#') {
      const end = source.indexOf('\n', start);
      from = end < 0 ? source.length : end;
    } else if (first === '') {
      from = source.length;
    } else {
      const quote = source.startsWith(first.repeat(3), start) ? first.repeat(3) : first;
      const end = findStringEnd(source, start + quote.length, quote);
      const lineBreaks = '\n'.repeat(countLineBreaks(source.slice(start, end)));
      kept.push(`""${lineBreaks}`);
      from = source.startsWith(quote, end) ? end + quote.length : end;
    }
  }
  return kept.join('');
}

/** Also ends an unterminated single-quoted string at the end of its line, so that the rest of the source is kept. */
export function findStringEnd(script: string, start: number, quote: string): number {
  let index = start;
  while (index < script.length && !script.startsWith(quote, index)) {
    if (quote.length === 1 && script[index] === '\n') {
      return index;
    }
    index += script[index] === '\\' ? 2 : 1;
  }
  return Math.min(index, script.length);
}

function countLineBreaks(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    count += 1;
  }
  return count;
}
