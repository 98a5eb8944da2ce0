import { describe, expect, it } from 'vitest';
import { findReplacement } from '../../shared/text/removed-names.ts';

describe('a removed name', () => {
  it('has a sentence that names what to use instead', () => {
    expect(findReplacement('profile')).toMatch(/^Use `dropforge exec .*\.$/);
  });

  it.each(['jobs', 'constructor', ''])('is not found for %j, which was never removed', (name) => {
    expect(findReplacement(name)).toBeUndefined();
  });
});
