import { execFile } from 'node:child_process';
import { glob, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { buildPage, PAGE_ENTRY_POINTS } from '#infra/page/build-page.ts';
import { archivePage } from '#infra/page/page-files.ts';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { apiDescriptions, embeddedJson, excludedModules } from '#infra/tools/bundle-functions/bundle-plugins.ts';
import { lazyBuiltins } from '#infra/tools/bundle-program/lazy-builtins.ts';
import { renderLicenses } from '#infra/tools/bundle-program/third-party-licenses.ts';

const DIRECTORY = join(PRODUCT_ROOT, 'dist');

/** CommonJS libraries load modules of Node.js with `require`, which ES modules do not have. */
const REQUIRE = "const require = process.getBuiltinModule('module').createRequire(import.meta.url);";

const BUILD_OPTIONS = {
  absWorkingDir: PRODUCT_ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  // A module that is imported when it is needed has to be an ES module: esbuild exports no names of CommonJS ones.
  mainFields: ['module', 'main'],
  legalComments: 'none',
  metafile: true,
  logLevel: 'error',
  outdir: DIRECTORY,
} as const satisfies BuildOptions;

// The npm package (`files` of package.json) is what this writes, what build-functions.ts writes, and files of the
// checkout. It has no dependencies: the CLI and the embedded cloud are bundled, in one file for each set of commands
// that needs the same modules, so that a command loads only what it uses.
for await (const stale of glob(['*.js', 'page'], { cwd: DIRECTORY })) {
  await rm(join(DIRECTORY, stale), { recursive: true });
}
const program = await build({
  ...BUILD_OPTIONS,
  entryPoints: ['cli/main.ts'],
  splitting: true,
  target: 'node22',
  minifySyntax: true,
  minifyWhitespace: true,
  // Builds the page, which the package has.
  external: ['esbuild'],
  banner: { js: REQUIRE },
  define: { __dirname: 'import.meta.dirname' },
  plugins: [lazyBuiltins, excludedModules, ...apiDescriptions, embeddedJson],
});
for (const [path, bytes] of Object.entries(archivePage('page', await buildPage()))) {
  await mkdir(dirname(join(DIRECTORY, path)), { recursive: true });
  await writeFile(join(DIRECTORY, path), bytes);
}
// Rendered once, because building the parsers of all commands takes longer than the start of Node.js.
const { stdout: help } = await promisify(execFile)(process.execPath, [join(DIRECTORY, 'main.js'), '--help']);
await writeFile(join(DIRECTORY, 'help.txt'), help);
// Libraries of the functions and of the page are in the package as well.
const others = await build({
  ...BUILD_OPTIONS,
  entryPoints: ['infra/google-cloud/compose/entrypoints.ts', ...PAGE_ENTRY_POINTS],
  loader: { '.svg': 'empty' },
  write: false,
});
const inputs = [program, others].flatMap(({ metafile }) => Object.keys(metafile.inputs));
await writeFile(join(DIRECTORY, 'THIRD-PARTY-LICENSES.txt'), await renderLicenses(inputs));
const sizeBytes = Object.values(program.metafile.outputs).reduce((sum, { bytes }) => sum + bytes, 0);
process.stdout.write(
  `program: ${(sizeBytes / 1_024).toFixed(0)} KiB in ${Object.keys(program.metafile.outputs).length} files\n`,
);
