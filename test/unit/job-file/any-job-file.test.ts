import fc from 'fast-check';
import { describe, it } from 'vitest';
import { anyJobFile } from '../../fuzz/job-file-arbitrary.ts';
import { keepPromises } from '../../fuzz/job-file-promises.ts';

describe('any file (property)', () => {
  it('is parsed and validated without an exception, and prints back unchanged if it is accepted', () => {
    fc.assert(
      fc.property(anyJobFile, (source) => {
        keepPromises(source);
      }),
      { numRuns: 1_000 },
    );
  });
});
