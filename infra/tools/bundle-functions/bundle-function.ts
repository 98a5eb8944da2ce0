import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { zipSync } from 'fflate';
import type { FunctionName } from '#functions/functions.ts';
import { FUNCTION_FILE } from '#infra/tools/bundle-functions/archive/function-script.ts';
import { buildManifests } from '#infra/tools/bundle-functions/archive-manifest.ts';
import {
  agent,
  apiDescriptions,
  commonJs,
  deferral,
  framework,
  largeData,
  leftOut,
  noLocales,
  setRareModulesApart,
  shakenZod,
} from '#infra/tools/bundle-functions/bundle-plugins.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The oldest time that a zip can tell; a fixed one makes the same sources the same archive. */
const ZIP_EPOCH = new Date(1980, 0, 1);

const BUILD_OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  // Names stay: Google's libraries know their int64 by that of its class (proto3-json-serializer), and to keep them by
  // esbuild's keepNames is a call for every function at each start.
  minifySyntax: true,
  minifyWhitespace: true,
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
    entryPoints: [`infra/google-cloud/entrypoints/${name}.ts`],
    plugins: [
      framework,
      agent,
      shakenZod,
      commonJs,
      leftOut,
      ...apiDescriptions,
      setRareModulesApart(rare),
      noLocales,
      largeData,
      deferral,
    ],
  });
  const files: Record<string, Uint8Array> = {
    ...(await buildArchiveFiles()),
    [FUNCTION_FILE]: main.outputFiles[0]?.contents ?? new Uint8Array(),
    ...(await buildManifests(name)),
  };
  for (const [rareName, path] of [...rare].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { outputFiles } = await build({ ...BUILD_OPTIONS, entryPoints: [path] });
    files[`rare/${rareName}`] = outputFiles[0]?.contents ?? new Uint8Array();
  }
  return { name, files, inputs: Object.keys(main.metafile.inputs) };
}

/** What every archive has: its start, and what is done once before any. */
async function buildArchiveFiles(): Promise<Record<string, Uint8Array>> {
  const entryPoints = {
    index: 'infra/tools/bundle-functions/archive/start.ts',
    compile: 'infra/tools/bundle-functions/archive/compile.ts',
  };
  const { outputFiles } = await build({ ...BUILD_OPTIONS, entryPoints });
  return Object.fromEntries(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}

/**
 * Writes the archive that is uploaded, and the folder that the functions-framework then starts from: the same, after
 * the step that Cloud Build takes (`gcp-build`). What that makes depends on the Node that makes it, so the archive
 * lacks it.
 */
export async function writeBundle({ name, files }: Bundle, directory: string): Promise<void> {
  const folder = join(directory, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'rare'), { recursive: true });
  for (const [path, bytes] of Object.entries(files)) {
    await writeFile(join(folder, path), bytes);
  }
  await writeFile(join(directory, `${name}.zip`), zipSync({ ...files }, { level: 9, mtime: ZIP_EPOCH }));
  await promisify(execFile)(process.execPath, ['compile.js'], { cwd: folder });
}
