import { describe, expect, it } from 'vitest';
import { readLabeledLogs } from '../diagnosis/labeled-logs.ts';
import { measureAccuracy } from '../diagnosis/measure-accuracy.ts';
import { leaveOut } from '../support/run/leave-out.ts';
import { findLabeledFailures } from './read-corpus.ts';

const ACCURACY_MIN = 0.98;

const file = findLabeledFailures();

describe('logs that other people published', () => {
  if (file === null) {
    leaveOut('the labeled failures beside the checkout', 'their diagnosis');
    return;
  }
  const { rows } = readLabeledLogs(file);
  const accuracy = measureAccuracy(rows);

  it(`get the label that a reader assigned in at least ${ACCURACY_MIN * 100} % of the cases`, () => {
    expect(rows.length).toBeGreaterThan(0);
    expect(accuracy.fraction).toBeGreaterThanOrEqual(ACCURACY_MIN);
  });

  it('get no label if nothing failed', () => {
    expect(accuracy.falseAlarms.map(({ id }) => id)).toEqual([]);
  });
});
