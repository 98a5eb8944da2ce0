import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, Script } from 'node:vm';

/** File name of a function's bundle in its archive. */
export const FUNCTION_FILE = 'function.js';

/** V8's code cache of the bundle. V8 rejects a cache that another version created. */
export const CODE_CACHE_FILE = 'function.cache';

/** Compiles the bundle as Node compiles a CommonJS module, from the code cache if it is valid. */
export function compileFunction(directory: string, cachedData: Buffer | undefined): Script {
  const filename = join(directory, FUNCTION_FILE);
  const source = readFileSync(filename, 'utf8');
  return new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename,
    ...(cachedData !== undefined && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** Runs the bundle as a CommonJS module. */
export function runFunction(script: Script, directory: string, require: NodeJS.Require): void {
  const run = script.runInThisContext() as (...parameters: readonly unknown[]) => void;
  const module = { exports: {} };
  run(module.exports, require, module, join(directory, FUNCTION_FILE), directory);
}

/** The code cache; undefined if the build did not create one, in which case a start takes longer. */
export function readCodeCache(directory: string): Buffer | undefined {
  try {
    return readFileSync(join(directory, CODE_CACHE_FILE));
  } catch {
    return undefined;
  }
}
