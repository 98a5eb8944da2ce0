import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULES } from '#shared/domain/rules/transition.ts';
import { exploreLifecycle } from './explore-lifecycle.ts';
import { LIFECYCLE_CASES } from './lifecycle-cases.ts';
import { renderJobLifecycle, WRITE_COMMAND } from './render-job-lifecycle.ts';

it('is up to date with the rules', () => {
  const page = readFileSync(new URL('../../docs/job-lifecycle.md', import.meta.url), 'utf8');
  expect(page === renderJobLifecycle(), `docs/job-lifecycle.md is out of date: run \`${WRITE_COMMAND}\`.`).toBe(true);
});

it('contains every rule', () => {
  const rules = Object.entries(RULES).flatMap(([status, byType]) =>
    Object.keys(byType).map((type) => `${status} × ${type}`),
  );
  const documented = exploreLifecycle().decisions.map(
    ({ from, lifecycleCase }) => `${/^\w+/.exec(from)?.[0]} × ${lifecycleCase.type}`,
  );
  expect([...new Set(documented)].sort()).toEqual(rules.sort());
});

it('has no case that never leads to a transition', () => {
  const reached = new Set(
    exploreLifecycle().decisions.map(({ lifecycleCase }) => `${lifecycleCase.type} ${lifecycleCase.when}`),
  );
  expect(
    LIFECYCLE_CASES.map(({ type, when }) => `${type} ${when}`).filter((condition) => !reached.has(condition)),
  ).toEqual([]);
});
