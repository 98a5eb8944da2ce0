import { describe, expect, it } from 'vitest';
import { findReplacements } from '../../shared/text/replaced-names.ts';

describe('a name of an earlier version or another tool', () => {
  it('has a sentence that names what to use instead', () => {
    expect(findReplacements('/v1/jobs/JOB/profiles')).toEqual([expect.stringMatching(/^Use `dropforge exec .*\.$/)]);
  });

  it.each(['jobs', 'profile', 'constructor', ''])('is not %j, which may be the field of a job file', (name) => {
    expect(findReplacements(name)).toEqual([]);
  });
});
