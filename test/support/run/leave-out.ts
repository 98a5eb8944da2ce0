import { describe, it } from 'vitest';

/** Registers that tests are left out because this machine lacks `tool`; the run lists it once, at its end. */
export function leaveOut(tool: string, tests: string): void {
  describe(tests, () => {
    it(`requires ${tool}`, (context) => context.skip(tool));
  });
}
