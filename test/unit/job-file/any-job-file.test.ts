import fc from 'fast-check';
import { describe, it } from 'vitest';
import { checkFile } from '../../fuzz/check-file.ts';
import { anyJobFile } from '../../fuzz/job-file-arbitrary.ts';

describe('any file (property)', () => {
  it('is parsed and validated without an exception', () => {
    fc.assert(
      fc.property(anyJobFile, (source) => {
        checkFile(source);
      }),
      { numRuns: 1_000 },
    );
  });
});
