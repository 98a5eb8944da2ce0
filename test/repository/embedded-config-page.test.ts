import { expect, it } from 'vitest';
import { embeddedConfigSchema } from '#infra/embedded/embedded-config.ts';
import { readRepository } from './repository-files.ts';

const page = readRepository().find(({ path }) => path === 'docs/embedded-cloud.md')?.text ?? '';
const rows = [...page.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)];

it('docs/embedded-cloud.md documents exactly the keys of the configuration, but for those of tests', () => {
  const { timeouts: _, ...keys } = embeddedConfigSchema.shape;
  expect(rows.map(([, key]) => key).sort()).toEqual(Object.keys(keys).sort());
});

it('docs/embedded-cloud.md has the default of every number in the configuration', () => {
  const numbers = Object.entries(embeddedConfigSchema.parse({})).filter(
    ([key, value]) => typeof value === 'number' && key !== 'vmsMax',
  );
  expect(numbers.length).toBeGreaterThan(8);
  const written = new Map(rows.map(([, key, , fallback]) => [key, Number.parseFloat(fallback ?? '')]));
  expect(numbers.filter(([key, value]) => written.get(key) !== value)).toEqual([]);
});
