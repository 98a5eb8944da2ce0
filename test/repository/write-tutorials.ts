import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { installPackage, packPackage } from '#infra/tools/release/install-package.ts';
import { openFrameworkEnvironment } from '../support/frameworks/framework-environment.ts';
import { playInShell, readTutorials } from '../support/tutorial/tutorials.ts';

const [pattern = ''] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'dropforge-package-'));
const tarball = await packPackage(folder);
const installed = await installPackage(tarball, folder);
for (const tutorial of (await readTutorials()).filter(({ name }) => name.includes(pattern))) {
  const { python } = tutorial.needsTorch ? await openFrameworkEnvironment() : {};
  const folders = python === undefined ? [] : [dirname(python)];
  await writeFile(tutorial.path, await playInShell(tutorial, { installed, tarball }, folders));
}
await rm(folder, { recursive: true });
