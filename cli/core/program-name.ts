import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
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
 * Returns the command that runs this checkout from the caller's working directory: `dropforge` if it is linked into the
 * PATH, `npx dropforge` inside the checkout, otherwise the program's absolute path, because npx would look up a package
 * of that name in the public registry.
 */
export function findProgramName({ searchPath, cwd }: { readonly searchPath: string; readonly cwd: string }): string {
  if (searchPath.split(delimiter).some(isLinkedIn)) {
    return 'dropforge';
  }
  return `${cwd}${sep}`.startsWith(`${PRODUCT_ROOT}${sep}`) ? 'npx dropforge' : quoteForShell(PROGRAM);
}

/** Ignores `node_modules/.bin`: npm prepends it to the PATH of scripts, but the caller's shell does not have it. */
function isLinkedIn(directory: string): boolean {
  const file = join(directory, 'dropforge');
  return !directory.endsWith(join('node_modules', '.bin')) && existsSync(file) && realpathSync(file) === PROGRAM;
}
