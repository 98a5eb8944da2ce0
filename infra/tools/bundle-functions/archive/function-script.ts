import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, Script } from 'node:vm';

/** The bundle of a function, in its archive. */
export const FUNCTION_FILE = 'function.js';

/** What V8 has made of it; only the very version of V8 that has made it can use it, and says so. */
export const CODE_CACHE_FILE = 'function.cache';

/** The bundle as Node compiles a CommonJS module, from the code cache where there is one that fits. */
export function compileFunction(directory: string, cachedData: Buffer | undefined): Script {
  const filename = join(directory, FUNCTION_FILE);
  const source = readFileSync(filename, 'utf8');
  return new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename,
    ...(cachedData !== undefined && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

/** Runs it as the module that it is. */
export function runFunction(script: Script, directory: string, require: NodeJS.Require): void {
  const run = script.runInThisContext() as (...given: readonly unknown[]) => void;
  const module = { exports: {} };
  run(module.exports, require, module, join(directory, FUNCTION_FILE), directory);
}

/** Undefined where there is none. */
export function readCodeCache(directory: string): Buffer | undefined {
  try {
    return readFileSync(join(directory, CODE_CACHE_FILE));
  } catch {
    // Nobody has compiled this archive beforehand: it starts all the same, only later.
    return undefined;
  }
}
