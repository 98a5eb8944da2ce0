import { expect, it } from 'vitest';
import { embeddedConfigSchema } from '#infra/embedded/embedded-config.ts';
import { readRepository } from './repository-files.ts';

const page = readRepository().find(({ path }) => path === 'docs/embedded-cloud.md')?.text ?? '';
const rows = [...page.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)];

it('the page of the embedded cloud names every key of its configuration, and no other', () => {
  expect(rows.map(([, key]) => key).sort()).toEqual(Object.keys(embeddedConfigSchema.shape).sort());
});

it('the page of the embedded cloud gives the default of every number of its configuration', () => {
  const numbers = Object.entries(embeddedConfigSchema.parse({})).filter(
    ([key, value]) => typeof value === 'number' && key !== 'vmsMax',
  );
  expect(numbers.length).toBeGreaterThan(15);
  const written = new Map(rows.map(([, key, , fallback]) => [key, Number.parseFloat(fallback ?? '')]));
  expect(numbers.filter(([key, value]) => written.get(key) !== value)).toEqual([]);
});
