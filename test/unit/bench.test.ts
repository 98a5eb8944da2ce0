import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const MAIN = join(import.meta.dirname, '../../bench', 'main.ts');

const bench = async (...args: readonly string[]) =>
  (await promisify(execFile)(process.execPath, [MAIN, ...args])).stdout;

describe('npm run bench', () => {
  it('lists every benchmark in a line of a terminal', async () => {
    const lines = (await bench('--list')).trim().split('\n');
    const choices = /choices: ([^)]*)\)/.exec((await bench('--help')).replaceAll(/\s+/g, ' '))?.[1];
    expect(lines.map((line) => `"${line.split(' ')[0]}"`).join(', ')).toBe(choices);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.filter((line) => !/^[a-z-]+ {2,}\S.{20,70}$/.test(line))).toEqual([]);
  });

  it('prints the rows of a benchmark below its columns', async () => {
    const [head, ...rows] = (await bench('health')).trim().split('\n');
    expect(head).toMatch(/^bench +measured +floor +ratio +goal$/);
    expect(rows).toHaveLength(2);
    const row =
      /^health: 1,000 (lines|metrics) a second +[\d.]+ % of a core +(10|0\.5) % of a core +[\d.]+ +≤ 1 +(met|missed)$/;
    expect(rows.filter((text) => !row.test(text))).toEqual([]);
  });
});
