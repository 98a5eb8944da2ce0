import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { pack } from 'tar-stream';
import type { PackageLayout } from '#shared/domain/package-layout.ts';
import { decideLayout } from '#shared/package/metadata/package-layout.ts';

type Sources = Readonly<Record<string, string>>;

export type Package = { readonly name: string; readonly body: Buffer; readonly layout: PackageLayout };

/** With the layout that intake pins for the module `trainer.task`. */
function packageOf(name: string, body: Buffer, sources: Sources): Package {
  const tree = { name, paths: new Set(Object.keys(sources)), readText: (path: string) => sources[path] ?? null };
  return { name, body, layout: decideLayout(tree, 'trainer.task') };
}

/** Returns a source distribution as setuptools builds it, of a package `trainer` with this `task.py`. */
export async function makeSdist(task: string, options: { readonly requires?: string; readonly setup?: string } = {}) {
  const requires = JSON.stringify((options.requires ?? '').split('\n').filter(Boolean));
  const setup =
    options.setup ??
    `from setuptools import setup\nsetup(name='trainer', version='0.1', packages=['trainer'], install_requires=${requires})\n`;
  const root = 'trainer-0.1';
  const sources = {
    [`${root}/PKG-INFO`]: 'Metadata-Version: 2.1\nName: trainer\nVersion: 0.1\n',
    [`${root}/setup.py`]: setup,
    [`${root}/trainer/__init__.py`]: '',
    [`${root}/trainer/task.py`]: task,
    [`${root}/trainer.egg-info/PKG-INFO`]: 'Metadata-Version: 2.1\nName: trainer\nVersion: 0.1\n',
    [`${root}/trainer.egg-info/top_level.txt`]: 'trainer\n',
    ...(options.requires === undefined ? {} : { [`${root}/trainer.egg-info/requires.txt`]: options.requires }),
  };
  return packageOf('trainer-0.1.tar.gz', await makeTarGz(sources), sources);
}

/** Returns a zip file that holds only sources. */
export function makeZip(sources: Sources, name = 'trainer.zip') {
  const files = Object.fromEntries(Object.entries(sources).map(([path, text]) => [path, strToU8(text)]));
  return packageOf(name, Buffer.from(zipSync(files)), sources);
}

async function makeTarGz(sources: Sources): Promise<Buffer> {
  const tar = pack();
  for (const [name, text] of Object.entries(sources)) {
    tar.entry({ name }, text);
  }
  tar.finalize();
  return buffer(tar.pipe(createGzip()));
}

/** Returns a wheel with one module. */
export function makeWheel(distribution: string, module: string, source: string) {
  const info = `${distribution}-1.0.dist-info`;
  const sources = {
    [`${module}.py`]: source,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${distribution}\nVersion: 1.0\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/RECORD`]: `${module}.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  };
  return makeZip(sources, `${distribution}-1.0-py3-none-any.whl`);
}
