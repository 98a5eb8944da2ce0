import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve, sep } from 'node:path';
import { PRODUCT_ROOT } from '#infra/product-root.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

const PROGRAM = join(PRODUCT_ROOT, 'cli', 'dropforge.js');

let resolveName = (): string => 'npx dropforge';
let cloudFlags = '';

/** The command prefix for hints that users can copy; `npx dropforge` unless `setProgramNameSource` was called. */
export function programName(): string {
  return `${bareProgramName()}${cloudFlags}`;
}

/** `programName` without the flags that select a cloud. */
export function bareProgramName(): string {
  return resolveName();
}

/**
 * The command that copies a job directory, or a folder of it, below outputs/: `run` names a job after its folder, so that
 * a copy into the current folder could replace the program's files.
 */
export function copyCommand(uri: string): string {
  return `${programName()} cp -r ${quoteForShell(uri)} outputs/`;
}

/** Adds the flags that select the caller's cloud to hints: without them, a copied hint would address another one. */
export function setCloudFlagsOfHints(flags: Readonly<Record<'data-dir' | 'deployment', string | undefined>>): void {
  cloudFlags = Object.entries(flags)
    .map(([name, value]) => (value === undefined ? '' : ` --${name} ${quoteForShell(value)}`))
    .join('');
}

/** Called once by the composition root. The source is evaluated only when a hint is printed. */
export function setProgramNameSource(source: () => string): void {
  resolveName = source;
}

/**
 * Returns the command that runs this program from the caller's working directory: `dropforge` if it is linked into the
 * PATH, as by a global installation; `npx dropforge` inside the checkout or the project that has it as a package, or if
 * npx has fetched it from the public registry, where it would otherwise look; else the program's absolute path.
 */
export function findProgramName({ searchPath, cwd }: { readonly searchPath: string; readonly cwd: string }): string {
  if (searchPath.split(delimiter).some(isLinkedIn)) {
    return 'dropforge';
  }
  const project = basename(dirname(PRODUCT_ROOT)) === 'node_modules' ? resolve(PRODUCT_ROOT, '../..') : PRODUCT_ROOT;
  return `${cwd}${sep}`.startsWith(`${project}${sep}`) || isFetchedByNpx(project)
    ? 'npx dropforge'
    : quoteForShell(PROGRAM);
}

/** Reads what npx has noted in its cache, which also has packages of files. */
function isFetchedByNpx(project: string): boolean {
  const file = join(project, 'package.json');
  return existsSync(file) && /"_npx":\s*\{\s*"packages":\s*\[\s*"dropforge["@]/.test(readFileSync(file, 'utf8'));
}

/** Ignores `node_modules/.bin`: npm prepends it to the PATH of scripts, but the caller's shell does not have it. */
function isLinkedIn(directory: string): boolean {
  const file = join(directory, 'dropforge');
  return !directory.endsWith(join('node_modules', '.bin')) && existsSync(file) && realpathSync(file) === PROGRAM;
}
