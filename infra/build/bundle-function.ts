import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { zipSync } from 'fflate';
import type { FunctionName } from '#functions/index.ts';
import {
  agent,
  computeDescription,
  deferral,
  framework,
  largeData,
  noLocales,
  setRareModulesApart,
} from '#infra/build/bundle-plugins.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The oldest time that a zip can tell; a fixed one makes the same sources the same archive. */
const ZIP_EPOCH = new Date(1980, 0, 1);

/** What Cloud Functions looks for (docs, "Write Node.js functions"): nothing is installed there, and nothing built. */
const MANIFEST = { main: 'index.js', engines: { node: '24' }, scripts: { 'gcp-build': '' } };

const BUILD_OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  minify: true,
  // Google's libraries know their int64 by the name of its class (proto3-json-serializer).
  keepNames: true,
  legalComments: 'none',
  write: false,
  metafile: true,
  absWorkingDir: ROOT,
  logLevel: 'error',
  outdir: 'dist',
} as const satisfies BuildOptions;

export type Bundle = {
  readonly name: FunctionName;
  /** Everything that is deployed, by its path. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** The files of this repository and of libraries that are in what is read at a start. */
  readonly inputs: readonly string[];
};

/** One function as it is deployed: a bundle of what it uses, what is rarely used beside it, and a manifest. */
export async function bundleFunction(name: FunctionName): Promise<Bundle> {
  const rare = new Map<string, string>();
  const main = await build({
    ...BUILD_OPTIONS,
    entryPoints: [`functions/deployed/${name}.ts`],
    plugins: [framework, agent, computeDescription, setRareModulesApart(rare), noLocales, largeData, deferral],
  });
  const files: Record<string, Uint8Array> = {
    'index.js': main.outputFiles[0]?.contents ?? new Uint8Array(),
    'package.json': Buffer.from(`${JSON.stringify({ name, ...MANIFEST }, null, 2)}\n`),
  };
  for (const [rareName, path] of [...rare].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { outputFiles } = await build({ ...BUILD_OPTIONS, entryPoints: [path] });
    files[`rare/${rareName}`] = outputFiles[0]?.contents ?? new Uint8Array();
  }
  return { name, files, inputs: Object.keys(main.metafile.inputs) };
}

/** Writes the folder that the functions-framework starts from, and the archive that is uploaded. */
export async function writeBundle({ name, files }: Bundle, directory: string): Promise<void> {
  const folder = join(directory, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'rare'), { recursive: true });
  for (const [path, bytes] of Object.entries(files)) {
    await writeFile(join(folder, path), bytes);
  }
  await writeFile(join(directory, `${name}.zip`), zipSync({ ...files }, { level: 9, mtime: ZIP_EPOCH }));
}
