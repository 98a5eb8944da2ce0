import { describe, expect, it } from 'vitest';
import { installedOf } from '../../support/package/installed-of.ts';

const lockOf = (links: string, packages: string) =>
  `version = 1\n[[package]]\nname = "mine"\nsource = { virtual = "." }\ndependencies = [${links}]\n${packages}`;

describe('A lock', () => {
  it.each([
    ['links', Array(2_000).fill('{ name = "a" }').join()],
    ['a long marker', `{ name = "a", marker = "os_name == '${'x'.repeat(20_000)}'" }`],
  ])('with %s to many packages of one name is not read', async (_, links) => {
    const packages = '[[package]]\nname = "a"\nversion = "1"\n'.repeat(2_000);
    const { requirements, said } = await installedOf({ 'uv.lock': lockOf(links, packages) });
    expect(requirements).toEqual([]);
    expect(said).toEqual([expect.stringContaining('uv.lock is invalid or too large')]);
  });

  it.each([
    'name = "-r /etc/passwd"\nversion = "1"',
    'name = "a"\nversion = "1\\n--index-url https://example.com"',
    'name = "a"\nversion = "1 --no-deps"',
    'name = "a"\nversion = "1"\nsource = { url = "https://example.com/a.whl\\n-r x" }',
  ])('whose package would be more than a requirement is not read: %s', async (lines) => {
    const links = '{ name = "a" }, { name = "-r /etc/passwd" }';
    const { requirements, said } = await installedOf({ 'uv.lock': lockOf(links, `[[package]]\n${lines}\n`) });
    expect(requirements).toEqual([]);
    expect(said).toEqual([expect.stringContaining('uv.lock is invalid or too large')]);
  });

  it.each(['file:///etc/passwd', 'https://example.com/a b.whl'])('names a package at %s', async (url) => {
    const one = `[[package]]\nname = "a"\nversion = "1"\nsource = { url = "${url}" }\n`;
    const { requirements, said } = await installedOf({ 'uv.lock': lockOf('{ name = "a" }', one) });
    expect([requirements, said]).toEqual([[], [expect.stringContaining('uv.lock has a at paths')]]);
  });
});

it('An environment.yml with an entry for pip of several lines names it', async () => {
  const text = 'dependencies:\n  - pip:\n    - six\n    - "einops\\n--index-url https://example.com"\n';
  const { requirements, said } = await installedOf({ 'environment.yml': text });
  expect(requirements).toEqual(['six']);
  expect(said).toEqual([expect.stringMatching(/einops.*--index-url.* are not, unless the image has them\.$/)]);
});

describe('A dependency group', () => {
  const choose = (name: string) => `[tool.dropforge]\ngroups = ["${name}"]\n`;

  it.each(['toString', 'constructor', '__proto__'])('whose name is %s is one that is missing', async (name) => {
    const said = [`DEPENDENCIES_NOT_INSTALLED: pyproject.toml has no dependency group or extra ${name}.`];
    expect(await installedOf({ 'pyproject.toml': choose(name) })).toMatchObject({ said });
    const lock = lockOf('{ name = "a" }', '[[package]]\nname = "a"\nversion = "1"\n');
    const found = await installedOf({ 'pyproject.toml': choose(name), 'uv.lock': lock });
    expect(found).toMatchObject({ requirements: ['a==1'], said });
  });

  it('can include 20,000 others', async () => {
    const groups = Array.from({ length: 20_000 }, (_, index) => `g${index} = [{ include-group = "g${index + 1}" }]\n`);
    const pyproject = `[dependency-groups]\n${groups.join('')}g20000 = ["six"]\n${choose('g0')}`;
    expect((await installedOf({ 'pyproject.toml': pyproject })).requirements).toEqual(['six']);
  });
});
