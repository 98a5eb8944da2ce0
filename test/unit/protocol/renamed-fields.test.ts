import { expect, it } from 'vitest';
import { renameFields } from '#shared/protocol/renamed-fields.ts';

const NAMES = { tries: 'attempts' };

it('a field that was renamed since the version before is read by either name', () => {
  expect(renameFields({ jobId: 'a', tries: 2 }, NAMES)).toEqual({ jobId: 'a', attempts: 2 });
  expect(renameFields({ jobId: 'a', attempts: 2 }, NAMES)).toEqual({ jobId: 'a', attempts: 2 });
});

it.each([[{ labels: { tries: 'x' } }], [['tries']], ['tries'], [null]])(
  '%j keeps the names that are not its own',
  (value) => {
    expect(renameFields(value, NAMES)).toEqual(value);
  },
);
