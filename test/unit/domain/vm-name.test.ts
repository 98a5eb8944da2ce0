import fc from 'fast-check';
import { expect, it } from 'vitest';
import { vmNameOf } from '#shared/domain/vm-name.ts';

const jobIds = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,127}$/);
const master = { role: 'master', index: 0 } as const;

it('is a valid instance name for every job id', () => {
  fc.assert(
    fc.property(jobIds, fc.integer({ min: 1, max: 9_999 }), (jobId, attempt) => {
      expect(vmNameOf(jobId, attempt, { role: 'evaluator', index: 99 })).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])$/);
    }),
  );
});

it('differs for job ids that differ only in characters that names cannot have', () => {
  const names = ['Digits_1', 'digits_1', 'digits__1', 'DIGITS_1'].map((jobId) => vmNameOf(jobId, 1, master));
  expect(new Set(names).size).toBe(4);
});

it('is equal for the same replica, and different for every attempt', () => {
  expect(vmNameOf('digits', 1, master)).toBe(vmNameOf('digits', 1, master));
  expect(vmNameOf('digits', 1, master)).not.toBe(vmNameOf('digits', 2, master));
});
