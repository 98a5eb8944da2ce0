import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULES } from '#shared/domain/transition.ts';
import { exploreLifecycle } from './explore-lifecycle.ts';
import { HAPPENINGS } from './lifecycle-happenings.ts';
import { renderJobLifecycle, WRITE_COMMAND } from './render-job-lifecycle.ts';

it('is what the rules say', () => {
  const page = readFileSync(new URL('../../docs/job-lifecycle.md', import.meta.url), 'utf8');
  expect(page === renderJobLifecycle(), `docs/job-lifecycle.md is out of date: run \`${WRITE_COMMAND}\`.`).toBe(true);
});

it('tells of every rule', () => {
  const rules = Object.entries(RULES).flatMap(([status, byType]) =>
    Object.keys(byType).map((type) => `${status} × ${type}`),
  );
  const told = exploreLifecycle().decisions.map(
    ({ from, happening }) => `${/^\w+/.exec(from)?.[0]} × ${happening.type}`,
  );
  expect([...new Set(told)].sort()).toEqual(rules.sort());
});

it('knows no circumstance that never decides anything', () => {
  const met = new Set(exploreLifecycle().decisions.map(({ happening }) => `${happening.type} ${happening.when}`));
  expect(
    HAPPENINGS.map(({ type, when }) => `${type} ${when}`).filter((circumstance) => !met.has(circumstance)),
  ).toEqual([]);
});
