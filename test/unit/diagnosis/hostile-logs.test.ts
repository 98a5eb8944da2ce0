import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRoot } from '#shared/diagnosis/find-root.ts';
import { RULES } from '#shared/diagnosis/rules/all-rules.ts';

/** Far more than a diagnosis takes, so that a busy machine does not fail the test; a catastrophic pattern takes minutes. */
const MS_MAX = 10_000;

const EXAMPLES = RULES.map(({ example }) => example);

function timeOf(lines: readonly string[]): number {
  const start = performance.now();
  findRoot(lines);
  return performance.now() - start;
}

describe('a hostile log', () => {
  it.each([
    ['spaces', ' '],
    ['brackets', '['],
    ['a number', '1'],
    ['escapes', '\u001b['],
    ['carriage returns', 'x\r'],
    ['an open quote', '"'],
    ['dots', 'a.'],
    ['losses', 'loss: '],
    ['files', 'File "a'],
    ['errors', 'Error: '],
    ['shapes', 'Shapes '],
    ['quota', 'exceeded quota '],
    ['clocks', '2026-11-22 10:00:00 '],
  ])('of a megabyte of %s takes bounded time', (_, unit) => {
    const line = unit.repeat(Math.ceil(1_000_000 / unit.length));
    expect(timeOf([line])).toBeLessThan(MS_MAX);
    expect(timeOf(Array.from({ length: 40 }, () => line.slice(0, 30_000)))).toBeLessThan(MS_MAX);
  });

  it('of repeated beginnings of every rule takes bounded time', () => {
    const slow = EXAMPLES.filter((example) => {
      const half = example.slice(0, Math.ceil(example.length / 2));
      return timeOf(Array.from({ length: 40 }, () => half.repeat(40))) > MS_MAX;
    });
    expect(slow).toEqual([]);
  }, 120_000);

  it('of any text is labeled or not, and never throws', () => {
    const piece = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.constantFrom(...EXAMPLES));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (lines) => {
        const root = findRoot(lines);
        expect(root === undefined || root.line.length <= 1_300).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
