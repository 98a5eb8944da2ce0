import { plainText } from '#dashboard/log/ansi-text.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';

/** Lines that a page keeps; of longer logs the newest. */
export const LOG_LINES_MAX = 300_000;

/** Characters of a line that a row shows; the rest is shown on request. */
export const LINE_CHARACTERS_MAX = 2_000;

export type LogLine = Pick<LogEntry, 'attempt' | 'replica' | 'stream' | 'severity' | 'at' | 'text'>;

export type LogFilter = {
  /** Empty for all lines. */
  readonly search: string;
  readonly isRegExp: boolean;
  /** Lines of at least this severity. */
  readonly severity: 'INFO' | 'WARNING' | 'ERROR';
  /** Whether lines of the agent are rows; otherwise a row says how many there are. */
  readonly showsAgent: boolean;
};

/** A row of the log: a line, lines of the agent that are folded, or the start of an attempt. */
export type LogRow =
  | { readonly kind: 'LINE'; readonly line: LogLine }
  | { readonly kind: 'FOLDED'; readonly count: number; readonly line: LogLine }
  | { readonly kind: 'ATTEMPT'; readonly attempt: number };

const RANKS = { INFO: 0, WARNING: 1, ERROR: 2 } as const;

/** Matches without regard to case; null if the search is not a regular expression. */
export function searchPattern({ search, isRegExp }: Pick<LogFilter, 'search' | 'isRegExp'>): RegExp | null {
  try {
    return new RegExp(isRegExp ? search : search.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu');
  } catch {
    return null;
  }
}

/**
 * The rows of a log. Lines of the agent between two lines of the program are one row, unless they are asked for, found
 * by a search, or warnings. Each attempt after the first begins with a row of its own.
 */
export function rowsOf(
  lines: readonly LogLine[],
  filter: LogFilter,
  matches: (line: LogLine) => boolean = matcherOf(filter),
): readonly LogRow[] {
  const rows: LogRow[] = [];
  let attempt: number | null = null;
  let foldedCount = 0;
  for (const line of lines) {
    const isShown = RANKS[line.severity] >= RANKS[filter.severity];
    if (!isShown || (filter.search !== '' && !matches(line))) {
      continue;
    }
    if (line.attempt !== attempt) {
      if (attempt !== null || line.attempt > 1) {
        rows.push({ kind: 'ATTEMPT', attempt: line.attempt });
      }
      attempt = line.attempt;
      foldedCount = 0;
    }
    const isFolded = line.stream === 'agent' && !filter.showsAgent && filter.search === '' && line.severity === 'INFO';
    if (!isFolded) {
      foldedCount = 0;
      rows.push({ kind: 'LINE', line });
    } else {
      if (foldedCount > 0) {
        rows.pop();
      }
      foldedCount += 1;
      rows.push({ kind: 'FOLDED', count: foldedCount, line });
    }
  }
  return rows;
}

/** A search looks at this much of each line, which bounds its time. */
const SEARCHED_CHARACTERS_MAX = 10_000;

/** None if the search is not a regular expression. */
function matcherOf(filter: LogFilter): (line: LogLine) => boolean {
  const pattern = searchPattern(filter);
  return (line) => pattern !== null && searchableText(line).search(pattern) !== -1;
}

/**
 * Whether each text contains a match of a regular expression. Splits those that do as well, as rows are when they are
 * shown: what takes too long there, takes too long here.
 */
export function findMatches(given: { readonly search: string; readonly texts: readonly string[] }): readonly boolean[] {
  const pattern = searchPattern({ search: given.search, isRegExp: true });
  return given.texts.map((text) => {
    const isFound = pattern !== null && text.search(pattern) !== -1;
    return isFound && splitMatches(text.slice(0, LINE_CHARACTERS_MAX), pattern).length > 0;
  });
}

export function searchableText({ text }: LogLine): string {
  const head = text.slice(0, SEARCHED_CHARACTERS_MAX);
  // Most lines have no escapes: they are searched as they are.
  return head.includes('\u001b') || head.includes('\r') ? plainText(head) : head;
}

/** An entry of several lines becomes several; the newest LOG_LINES_MAX are kept. */
export function appendEntries(lines: readonly LogLine[], entries: readonly LogEntry[]): readonly LogLine[] {
  const added = entries.flatMap((entry) => {
    const texts = entry.text.replace(/\n$/, '').split('\n');
    return texts.length === 1 ? [entry] : texts.map((text) => ({ ...entry, text }));
  });
  const all = [...lines, ...added];
  return all.length > LOG_LINES_MAX ? all.slice(-LOG_LINES_MAX) : all;
}

/** The parts of a text between the matches of a search, every second one a match. */
export function splitMatches(text: string, pattern: RegExp | null): readonly string[] {
  if (pattern === null) {
    return [text];
  }
  const parts: string[] = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0] === '') {
      continue;
    }
    parts.push(text.slice(from, match.index), match[0]);
    from = match.index + match[0].length;
  }
  return [...parts, text.slice(from)];
}
