import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readLabeledLogs } from '../../diagnosis/labeled-logs.ts';
import { measureAccuracy, NONE } from '../../diagnosis/measure-accuracy.ts';

const DATA = new URL('../../diagnosis/data/', import.meta.url);
const BENIGN_MIN = 60;

describe.each([
  ['known-wordings.jsonl', 0.98],
  ['blind.jsonl', 0.97],
  ['blind-2.jsonl', 0.97],
  ['blind-3.jsonl', 0.97],
  ['blind-4.jsonl', 0.95],
  ['blind-5.jsonl', 0.95],
  ['blind-6.jsonl', 0.97],
  ['blind-7.jsonl', 0.97],
] as const)('the logs of %s', (file, accuracyMin) => {
  const { rows, skipped } = readLabeledLogs(new URL(file, DATA));
  const { fraction, falseAlarms } = measureAccuracy(rows);

  it(`get the label of their author in at least ${accuracyMin * 100} % of the cases`, () => {
    expect(skipped).toBe(0);
    expect(fraction).toBeGreaterThanOrEqual(accuracyMin);
  });

  it('get no label if nothing failed', () => {
    expect(falseAlarms.map(({ id }) => id)).toEqual([]);
  });
});

it('the known logs contain enough that did not fail', () => {
  const { rows } = readLabeledLogs(new URL('known-wordings.jsonl', DATA));
  expect(rows.filter(({ label }) => label === NONE).length).toBeGreaterThanOrEqual(BENIGN_MIN);
});

describe('a file of labeled logs', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'labeled-logs-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function read(...lines: readonly string[]) {
    const file = join(folder, 'rows.jsonl');
    writeFileSync(file, lines.join('\n'));
    return readLabeledLogs(file);
  }

  it('may have blank lines, rows that are not JSON, and rows without a label or a text', () => {
    const row = JSON.stringify({ id: 'A', label: NONE, text: 'Epoch 1', other: [1] });
    const { rows, skipped } = read('', row, '{', '[]', 'null', '{"text":"x"}', '{"label":"x"}', '  ');
    expect(rows).toEqual([{ id: 'A', label: NONE, text: 'Epoch 1' }]);
    expect(skipped).toBe(5);
  });

  it('may have huge rows and labels that no rule has', () => {
    const { rows } = read(JSON.stringify({ id: 7, label: 'other', text: 'x'.repeat(2_000_000) }));
    expect(measureAccuracy(rows).wrong).toMatchObject([{ id: '7', label: 'other', got: NONE }]);
  });
});
