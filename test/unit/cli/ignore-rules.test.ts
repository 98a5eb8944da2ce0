import { describe, expect, it } from 'vitest';
import { parseIgnoreRules } from '#cli/images/ignore-rules.ts';

const isIgnored = (path: string, ...lines: readonly string[]) =>
  parseIgnoreRules(lines, '.dockerignore').isIgnored(path);

describe('a .dockerignore file', () => {
  it.each([
    ['data', 'data', true],
    ['data', 'data/a/b.csv', true],
    ['/data/', 'data/a', true],
    ['data', 'src/data', false],
    ['*.csv', 'a.csv', true],
    ['*.csv', 'data/a.csv', false],
    ['*/*.csv', 'data/a.csv', true],
    ['**/*.csv', 'a.csv', true],
    ['**/*.csv', 'data/deep/a.csv', true],
    ['data/**', 'data/deep/a.csv', true],
    ['data/**', 'database', false],
    ['a?.txt', 'ab.txt', true],
    ['a?.txt', 'a/.txt', false],
    ['[a-c]*.txt', 'b1.txt', true],
    ['[^a-c]*.txt', 'b1.txt', false],
    ['a\\*b', 'a*b', true],
    ['a\\*b', 'axb', false],
    ['a.b', 'axb', false],
    ['./data', 'data', true],
    ['x/../data', 'data', true],
    ['# data', 'data', false],
    ['', 'data', false],
    ['.', 'data', false],
  ])('with %j: %j is ignored: %s', (pattern, path, expected) => {
    expect(isIgnored(path, pattern)).toBe(expected);
  });

  it('is decided by the last pattern that matches', () => {
    expect(isIgnored('docs/README.md', 'docs', '!docs/README.md')).toBe(false);
    expect(isIgnored('docs/guide.md', 'docs', '!docs/README.md')).toBe(true);
    expect(isIgnored('docs/README.md', '!docs/README.md', 'docs')).toBe(true);
  });

  it.each(['data[', 'data\\'])('with the invalid pattern %j is rejected', (pattern) => {
    expect(() => isIgnored('data', pattern)).toThrow('.dockerignore: data');
  });

  it('is limited in the number of its patterns', () => {
    expect(() => isIgnored('a', ...Array.from({ length: 1_001 }, () => 'data'))).toThrow('the limit is 1000');
  });
});
