import { describe, expect, it } from 'vitest';
import { parseAnsi, plainText } from '#dashboard/log/ansi-text.ts';
import { appendEntries, type LogFilter, rowsOf, searchPattern, splitMatches } from '#dashboard/log/log-lines.ts';
import type { LogEntry } from '#shared/ports/log-store.ts';

const ALL: LogFilter = { search: '', isRegExp: false, severity: 'INFO', showsAgent: false };

function entry(text: string, overrides: Partial<LogEntry> = {}): LogEntry {
  const common = { jobId: 'a', attempt: 1, replica: 'master-0', at: 0 };
  return { ...common, stream: 'stdout', severity: 'INFO', text, ...overrides };
}

function shown(entries: readonly LogEntry[], filter: Partial<LogFilter> = {}) {
  return rowsOf(appendEntries([], entries), { ...ALL, ...filter }).map((row) => {
    return row.kind === 'LINE' ? row.line.text : row.kind === 'FOLDED' ? `(${row.count})` : `# ${row.attempt}`;
  });
}

describe('rows of a log', () => {
  const agent = { stream: 'agent' } as const;

  it('fold the lines of the agent, but not its warnings', () => {
    const entries = [entry('x', agent), entry('y', agent), entry('a'), entry('!', { ...agent, severity: 'WARNING' })];
    expect(shown(entries)).toEqual(['(2)', 'a', '!']);
    expect(shown(entries, { showsAgent: true })).toEqual(['x', 'y', 'a', '!']);
    expect(shown(entries, { search: 'Y' })).toEqual(['y']);
  });

  it('say where an attempt begins', () => {
    expect(shown([entry('a'), entry('b', { attempt: 2 })])).toEqual(['a', '# 2', 'b']);
  });

  it('are filtered by severity', () => {
    const entries = [entry('a'), entry('b', { severity: 'ERROR' }), entry('c', { replica: 'worker-0' })];
    expect(shown(entries, { severity: 'WARNING' })).toEqual(['b']);
  });

  it('are found as text or by a regular expression, without regard to case', () => {
    const entries = [entry('Loss 0.3'), entry('loss 1.5'), entry('a\nb.3')];
    expect(shown(entries, { search: '.3' })).toEqual(['Loss 0.3', 'b.3']);
    expect(shown(entries, { search: 'loss [1-9]', isRegExp: true })).toEqual(['loss 1.5']);
    expect(searchPattern({ search: '(', isRegExp: true })).toBeNull();
    expect(shown(entries, { search: '(', isRegExp: true })).toEqual([]);
    expect(splitMatches('loss 0.3 loss', /loss/giu)).toEqual(['', 'loss', ' 0.3 ', 'loss', '']);
  });

  it('are found by what is shown, not by escape sequences between it', () => {
    expect(shown([entry('\u001b[31mlo\u001b[0mss')], { search: 'loss' })).toHaveLength(1);
  });
});

describe('a line with terminal escapes', () => {
  it('has the colors and weight of its text', () => {
    expect(parseAnsi('a\u001b[1;31mb\u001b[38;5;196mc\u001b[0md')).toEqual([
      { text: 'a', style: '' },
      { text: 'b', style: 'ansi-red ansi-bold' },
      { text: 'c', style: 'ansi-red ansi-bold' },
      { text: 'd', style: '' },
    ]);
  });

  it.each([
    ['a cursor movement', 'a\u001b[2Kb', 'ab'],
    ['a title', 'a\u001b]0;title\u0007b', 'ab'],
    ['a link', '\u001b]8;;https://x\u001b\\text\u001b]8;;\u001b\\', 'text'],
    ['a progress bar', '10%\r20%\r100%\r\n', '100%'],
    ['a bell', 'a\u0007', 'a<U+0007>'],
    ['a change of direction', 'a\u202eb', 'a<U+202E>b'],
    ['markup', '<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ])('%s', (_, line, expected) => {
    expect(plainText(line)).toBe(expected);
    expect(
      parseAnsi(line)
        .map(({ text }) => text)
        .join(''),
    ).toBe(expected);
  });
});
