import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULES } from '#shared/tuning/rules/transition.ts';
import { follow, renderTuningLifecycle, WRITE_COMMAND } from './render-tuning-lifecycle.ts';
import { TUNING_CASES } from './tuning-lifecycle-cases.ts';

it('is up to date with the rules', () => {
  const page = readFileSync(new URL('../../docs/tuning-lifecycle.md', import.meta.url), 'utf8');
  const isCurrent = page === renderTuningLifecycle();
  expect(isCurrent, `docs/tuning-lifecycle.md is out of date: run \`${WRITE_COMMAND}\`.`).toBe(true);
});

it('contains every rule', () => {
  const rules = Object.entries(RULES).flatMap(([status, byType]) =>
    Object.keys(byType).map((type) => `${status} × ${type}`),
  );
  const documented = TUNING_CASES.map(({ type, before }) => `${before.tuning.status} × ${type}`);
  expect([...new Set(documented)].sort()).toEqual(rules.sort());
});

it('has no case that changes nothing', () => {
  const unchanged = TUNING_CASES.filter((each) => follow(each).after === each.before.tuning);
  expect(unchanged.map(({ type, when }) => `${type} ${when}`)).toEqual([]);
});
