import { readdir } from 'node:fs/promises';
import { basename, dirname, posix } from 'node:path';
import { UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { inspectLocalPackage } from '#cli/submit/check-packages.ts';
import { collectSourceFiles } from '#cli/submit/source-files.ts';
import { isArchiveName } from '#shared/package/archive/package-file-names.ts';
import { listFirst } from '#shared/text/list-first.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

const SHOWN_MODULES_MAX = 8;

/** Modules that are not what a folder is for. */
const TEST_MODULE = /(^|\.)(tests?|test_\w*|\w*_test|conftest)(\.|$)/;

/** The names that a training program usually has, for the example in a message. */
const LIKELY_NAME = /(?:^|[./])(?:train|task|main)(?:\.py)?$/;

const MAIN_GUARD = /^if\s+__name__\s*==\s*['"]__main__['"]/m;

type Module = { readonly name: string; readonly path: string; readonly text: string };

/**
 * The module or script of a folder that is meant to be run: the only one that asks whether it is the main module, or
 * else the only one that no other imports. Throws UsageFailure with the choices if there are none or several.
 *
 * @param given the folder as the user wrote it
 */
export async function findEntryPoint(path: string, given: string): Promise<string> {
  const modules = await listModules(path);
  const guarded = modules.filter((one) => one.path.endsWith('__main__.py') || MAIN_GUARD.test(one.text));
  const found = guarded.length > 0 ? guarded : modules.filter((one) => !modules.some((other) => imports(other, one)));
  const [only] = found;
  if (only !== undefined && found.length === 1) {
    return only.name;
  }
  const candidates = found.length > 0 ? found : modules;
  const first = candidates.find(({ name }) => LIKELY_NAME.test(name)) ?? candidates[0];
  if (first === undefined) {
    throw new UsageFailure(await describeNothing(path, given));
  }
  const names = candidates.map(({ name }) => name);
  throw new UsageFailure(
    `${path} has no job.yaml, and several programs: ${listFirst(names, SHOWN_MODULES_MAX)}. ` +
      `Name the one to run, such as \`${programName()} run ${quoteForShell(given)} --module-name ${quoteForShell(first.name)}\`.`,
  );
}

/** The modules and scripts that can be run, with their paths in the folder. */
async function listModules(path: string): Promise<readonly Module[]> {
  const report = await inspectLocalPackage(path);
  if (isArchiveName(path)) {
    const names = report.pythonModules.filter((name) => name !== 'setup' && !TEST_MODULE.test(name));
    return names.map((name) => ({ name, path: name, text: '' }));
  }
  const { files, hasBuildFile, isNamedFolder } = await collectSourceFiles(path);
  const modules: Module[] = [];
  for (const name of report.pythonModules.filter((one) => !TEST_MODULE.test(one))) {
    const inArchive = report.programPathOf(name) ?? '';
    const inFolder = isNamedFolder || hasBuildFile ? inArchive.slice(inArchive.indexOf('/') + 1) : inArchive;
    const file = files.find((one) => one.path === inFolder);
    if (file !== undefined) {
      const text = Buffer.from(await file.read()).toString('utf8');
      modules.push({ name: programNameOf(inFolder, new Set(files.map((one) => one.path))), path: inFolder, text });
    }
  }
  // Names that are not those of modules, such as "my train.py", run by their path.
  const scripts = modules.length > 0 ? [] : files.filter((file) => file.path.endsWith('.py'));
  return [...modules, ...scripts.map((file) => ({ name: file.path, path: file.path, text: '' }))];
}

/**
 * A module of a package by its dotted name, and any other file by its path, if it is in a folder: Python finds what
 * such a script imports from beside it only if it runs by its path.
 */
function programNameOf(path: string, paths: ReadonlySet<string>): string {
  let folder = posix.dirname(path);
  if (folder !== '.' && !paths.has(`${folder}/__init__.py`)) {
    return path;
  }
  let name = posix.basename(path, '.py');
  for (; paths.has(`${folder}/__init__.py`); folder = posix.dirname(folder)) {
    name = `${posix.basename(folder)}.${name}`;
  }
  return name.replace(/\.__main__$/, '');
}

function imports({ path: importer, text }: Module, { path }: Module): boolean {
  const name = posix.basename(path, '.py');
  return importer !== path && new RegExp(`^\\s*(from|import)\\s.*\\b${name}\\b`, 'm').test(text);
}

async function describeNothing(path: string, given: string): Promise<string> {
  const notebook = (await readdir(path).catch(() => [])).find((name) => name.endsWith('.ipynb'));
  return notebook === undefined
    ? `${path} has no Python program and no job file. For an example of both, run \`${programName()} init python my_model\`.`
    : `${path} has no Python program, and notebooks do not run by themselves: convert one with ` +
        `\`jupyter nbconvert --to script ${quoteForShell(posix.join(given, notebook))}\`, and run the command again.`;
}

/**
 * The package of a script: the script alone, or its folder if that is a package or has modules that the script imports;
 * and the module to run.
 */
export async function packageOfScript(path: string): Promise<{ readonly path: string; readonly module: string }> {
  const [folder, script] = [dirname(path), basename(path)];
  const names = await readdir(folder);
  if (names.includes('__init__.py')) {
    return { path: folder, module: `${basename(folder)}.${script.slice(0, -'.py'.length)}` };
  }
  const report = await inspectLocalPackage(path);
  const imported = report.programOf(script).findOutsideImports();
  const isBeside = imported.some((one) =>
    one.names.some((name) => names.includes(name) || names.includes(`${name}.py`)),
  );
  return { path: isBeside ? folder : path, module: script };
}
