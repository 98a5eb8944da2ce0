import { describe, expect, it } from 'vitest';
import { patternOf } from '../support/tutorial/output-pattern.ts';

const agrees = (shown: string, printed: string) => patternOf(shown.split('\n')).test(`${printed}\n`);

describe('the output of a command in a tutorial', () => {
  it.each([
    ['Ended after 0.4 s, loss 0.3454.', 'Ended after 12 ms, loss 1.2.'],
    ['01:00:53.508 master-0  epoch 1 of 3', '23:59:01.001 master-0  epoch 2 of 3'],
    ['http://127.0.0.1:24123/', 'http://127.0.0.1:8080/'],
    ['Wrote 4 files, 576 B', 'Wrote 12 files, 1.2 KB'],
    ['Job mine_261128_010044', 'Job mine_261129_230000'],
    ['df-mine-2229dlq8olz6u-a1-master-0 is preempted', 'df-mine-7z-a1-master-0 is preempted'],
    ['JOB       STATE\nmy_model  DONE', 'JOB  STATE\nmy_model   DONE'],
    ['one\n…\nlast', 'one\ntwo\nthree\nlast'],
    ['one\n…\nlast', 'one\nlast'],
    ['at … or so', 'at 5 past noon or so'],
  ])('%j agrees with %j', (shown, printed) => {
    expect(agrees(shown, printed)).toBe(true);
  });

  it.each([
    ['$0.19 per hour', '$0.20 per hour'],
    ['at most $31.92 in its limit', 'at most $32.92 in its limit'],
    ['n1-standard-4', 'n1-standard-8'],
    ['1 × nvidia-tesla-t4', '1 × nvidia-l4'],
    ['master-0', 'master-1'],
    ['SUCCEEDED', 'FAILED'],
    ['epoch 1', 'epoch one'],
    ['one', 'one\ntwo'],
    ['one\ntwo', 'one'],
    ['one…', 'one\ntwo'],
  ])('%j differs from %j', (shown, printed) => {
    expect(agrees(shown, printed)).toBe(false);
  });
});
