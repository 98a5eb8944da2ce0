import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that this program is of, with a slash at its end. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = join(ROOT, 'cli', 'dropforge.js');

let find = (): string => 'npx dropforge';

/** How hints begin that are to be typed: `npx dropforge`, unless the program was told otherwise. */
export function programName(): string {
  return find();
}

/** Told once, by whoever starts the program; it is asked for only where a hint is written. */
export function nameProgram(by: () => string): void {
  find = by;
}

/**
 * What reaches this checkout from the caller's folder: `dropforge` where it was linked, npx inside the checkout, and its
 * path anywhere else, where npx would ask the public registry for a package of that name.
 */
export function findProgramName({ searchPath, cwd }: { readonly searchPath: string; readonly cwd: string }): string {
  if (searchPath.split(delimiter).some(isLinkedIn)) {
    return 'dropforge';
  }
  return `${cwd}${sep}`.startsWith(ROOT) ? 'npx dropforge' : PROGRAM;
}

/** npm puts folders of its own before the PATH, which the caller's shell does not have. */
function isLinkedIn(directory: string): boolean {
  const file = join(directory, 'dropforge');
  return !directory.endsWith(join('node_modules', '.bin')) && existsSync(file) && realpathSync(file) === PROGRAM;
}
