import { expect, it } from 'vitest';
import { describeKept, describeKeptBriefly } from '#dashboard/screens/job/describe-kept.ts';

const KEPT = {
  replica: 'master-0',
  vmName: 'df-digits-a1-master-0',
  zone: 'us-central1-a',
  sinceTime: '2026-11-23T00:00:00.000Z',
  untilTime: '2026-11-23T00:30:00.000Z',
  releaseTime: null,
  perHourUsd: 0.35,
};
const NOW = Date.parse('2026-11-23T00:10:00.000Z');

it('a VM that is kept is named with the time that is left and its price', () => {
  expect(describeKept({ kept: KEPT }, NOW)).toMatch(
    /^The VM df-digits-a1-master-0 is kept for a look until .+ \(20 min left\), at \$0\.35 an hour\.$/,
  );
});

it('a VM of an unknown price is named without one', () => {
  expect(describeKept({ kept: { ...KEPT, perHourUsd: null } }, NOW)).toMatch(/ left\)\.$/);
});

it.each([null, { ...KEPT, releaseTime: KEPT.untilTime }])('nothing is said when no VM is kept any more: %j', (kept) => {
  expect(describeKept({ kept }, NOW)).toBeNull();
  expect(describeKeptBriefly({ kept })).toBeNull();
});

it('a line of the list says until when a VM is kept', () => {
  expect(describeKeptBriefly({ kept: KEPT })).toMatch(/^VM kept until \d{1,2}:\d\d/);
});
