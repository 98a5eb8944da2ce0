import { expect, it } from 'vitest';
import { describeKept, describeKeptBriefly, isKept } from '#shared/views/describe/describe-kept.ts';

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
    /^VM df-digits-a1-master-0 \(master-0\) is kept until \d\d:\d\d \(20 min left\), \$0\.35\/h$/,
  );
});

it('a VM of an unknown price is named with that', () => {
  expect(describeKept({ kept: { ...KEPT, perHourUsd: null } }, NOW)).toMatch(/ left\), unknown price$/);
});

it.each([null, { ...KEPT, releaseTime: KEPT.untilTime }])(
  'a list says nothing when no VM is kept any more: %j',
  (kept) => {
    expect(isKept({ kept })).toBe(false);
    expect(describeKeptBriefly({ kept })).toBeNull();
  },
);

it('a VM that was kept is named with its end', () => {
  expect(describeKept({ kept: null }, NOW)).toBeNull();
  expect(describeKept({ kept: { ...KEPT, releaseTime: KEPT.untilTime } }, NOW)).toMatch(
    /^VM df-digits-a1-master-0 \(master-0\) was kept until \d\d:\d\d, \$0\.35\/h$/,
  );
});

it('a line of the list says until when a VM is kept', () => {
  expect(describeKeptBriefly({ kept: KEPT })).toMatch(/^VM kept until \d\d:\d\d$/);
});
