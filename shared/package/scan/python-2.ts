/**
 * Statements that parse in Python 2 and in no Python 3: `print "x"`, `print x`, `exec "x"`, `raise E, "x"`. What has a
 * second reading is left alone: `print (x)`, `print >>f, x`, `print in names`, `except E, e` (Python 3.14 parses it).
 */
const PYTHON_2_ONLY =
  /^\s*(?:(?:print|exec)[ \t]+(?!(?:in|is|and|or|if|not|else|for)\b)["\w]|raise[ \t]+[\w.]+[ \t]*,)/;

/** Only looked for where one of the words is there at all: most sources are done with then. */
const MAYBE = /\b(?:print|exec)[ \t]+["\w]|\braise[ \t]+[\w.]+[ \t]*,/;

/**
 * The first line, counted from 1, of a source without strings and comments that no Python 3 parses; null for none. Only
 * the beginnings of statements are looked at: lines within brackets and those that continue another are passed over.
 */
export function findPython2(code: string): number | null {
  if (!MAYBE.test(code)) {
    return null;
  }
  let depth = 0;
  let isContinued = false;
  for (const [index, line] of code.split('\n').entries()) {
    if (depth === 0 && !isContinued && PYTHON_2_ONLY.test(line)) {
      return index + 1;
    }
    depth = Math.max(0, depth + countOf(line, /[([{]/g) - countOf(line, /[)\]}]/g));
    isContinued = line.endsWith('\\') || line.endsWith('\\\r');
  }
  return null;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
