import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { zipSync } from 'fflate';
import { FUNCTION_NAMES, type FunctionName } from '#functions/functions.ts';
import { buildPage } from '#infra/page/build-page.ts';
import { archivePage } from '#infra/page/page-files.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { FUNCTION_FILE } from '#infra/tools/bundle-functions/archive/function-script.ts';
import { buildManifests } from '#infra/tools/bundle-functions/archive-manifest.ts';
import {
  apiDescriptions,
  bootScripts,
  checkPatterns,
  commonJsStorage,
  deferredRequires,
  embeddedJson,
  excludedModules,
  framework,
  splitRareModules,
} from '#infra/tools/bundle-functions/bundle-plugins.ts';

/** The table of the deployed functions. */
const ENTRY_POINTS = '#infra/google-cloud/compose/entrypoints.ts';

/** The earliest time that a zip can represent. A fixed time makes archives reproducible. */
const ZIP_EPOCH = new Date(1980, 0, 1);

const BUILD_OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  // No minification of names: proto3-json-serializer identifies int64 by the name of its class, and esbuild's keepNames
  // adds a call for every function at each start.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  write: false,
  metafile: true,
  absWorkingDir: PRODUCT_ROOT,
  logLevel: 'error',
  // The folder of the archive, where the entry point is a part of the bundle.
  define: { 'import.meta.dirname': '__dirname' },
  outdir: 'dist',
} as const satisfies BuildOptions;

export type Bundle = {
  readonly name: FunctionName;
  /** The files of the archive, by path. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Source files, of this repository and of libraries, that are in the bundle or in its rarely used modules. */
  readonly inputs: readonly string[];
};

/** Builds all functions. Throws if a rule of the build applies to none of them. */
export async function bundleFunctions(): Promise<readonly Bundle[]> {
  const bundles = await Promise.all(FUNCTION_NAMES.map(bundleFunction));
  checkPatterns(bundles.flatMap(({ inputs }) => inputs));
  return bundles;
}

/** Builds one function for deployment: its bundle, rarely used modules in separate files, and the manifests. */
export async function bundleFunction(name: FunctionName): Promise<Bundle> {
  const rare = new Map<string, string>();
  const main = await build({
    ...BUILD_OPTIONS,
    stdin: { contents: await extractEntryPoint(name), resolveDir: PRODUCT_ROOT },
    plugins: [
      framework,
      bootScripts,
      commonJsStorage,
      excludedModules,
      ...apiDescriptions,
      splitRareModules(rare),
      embeddedJson,
      deferredRequires,
    ],
  });
  const files: Record<string, Uint8Array> = {
    ...(await buildArchiveFiles()),
    [FUNCTION_FILE]: main.outputFiles[0]?.contents ?? new Uint8Array(),
    ...(await buildManifests(name)),
  };
  if (name === 'api') {
    Object.assign(files, archivePage('page', await buildPage()));
  }
  for (const [rareName, path] of [...rare].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { outputFiles } = await build({ ...BUILD_OPTIONS, entryPoints: [path] });
    files[`rare/${rareName}`] = outputFiles[0]?.contents ?? new Uint8Array();
  }
  return { name, files, inputs: [...Object.keys(main.metafile.inputs), ...rare.values()] };
}

/**
 * The entry point of a function: calls its row of the table, which is an export of its name in camel case. The row is
 * extracted first, with what it imports itself, so that no bundle has to leave out the modules of all functions.
 */
async function extractEntryPoint(name: FunctionName): Promise<string> {
  const row = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  const { outputFiles } = await build({
    ...BUILD_OPTIONS,
    format: 'esm',
    define: {},
    stdin: { contents: `import { ${row} } from '${ENTRY_POINTS}'; ${row}();`, resolveDir: PRODUCT_ROOT },
    plugins: [externalImports],
  });
  return outputFiles[0]?.text ?? '';
}

/** Keeps the imports of the table of entry points as they are, without those that the chosen row does not use. */
const externalImports: Plugin = {
  name: 'external-imports',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ path }) =>
      path === ENTRY_POINTS ? undefined : { path, external: true, sideEffects: false },
    );
  },
};

/** The files that are the same in every archive: the entry point and the build step. */
async function buildArchiveFiles(): Promise<Record<string, Uint8Array>> {
  const entryPoints = {
    index: 'infra/tools/bundle-functions/archive/start.ts',
    compile: 'infra/tools/bundle-functions/archive/compile.ts',
  };
  const { outputFiles } = await build({ ...BUILD_OPTIONS, entryPoints });
  return Object.fromEntries(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}

/**
 * Writes the archive that is uploaded, and a folder from which the functions-framework can start the function: the same
 * files and the output of Cloud Build's step `gcp-build`. The archive does not contain that output, because it depends
 * on the Node version.
 */
export async function writeBundle({ name, files }: Bundle, directory: string): Promise<void> {
  const folder = join(directory, name);
  await rm(folder, { recursive: true, force: true });
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
  await writeFile(join(directory, `${name}.zip`), zipSync({ ...files }, { level: 6, mtime: ZIP_EPOCH }));
  await promisify(execFile)(process.execPath, ['compile.js'], { cwd: folder });
}
