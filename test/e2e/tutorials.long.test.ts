import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installPackage, packPackage } from '#infra/tools/release/install-package.ts';
import { openFrameworkEnvironment, selectInstalled } from '../support/frameworks/framework-environment.ts';
import { type Installation, playInShell, readTutorials } from '../support/tutorial/tutorials.ts';

const PAGE_MS_MAX = 600_000;

const environment = await openFrameworkEnvironment();
const pages = (await readTutorials()).filter(({ needsTorch }) => needsTorch);

let folder: string;
let installation: Installation;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dropforge-package-'));
  const tarball = await packPackage(folder);
  installation = { tarball, installed: await installPackage(tarball, folder) };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each(
  selectInstalled(
    environment,
    pages.map((page) => ({ ...page, requires: ['torch'] as const })),
  ),
)('the tutorial $name shows what its commands print', { timeout: PAGE_MS_MAX }, async (page) => {
  expect(await playInShell(page, installation, [dirname(environment.python ?? '')])).toBe(page.text);
});
