import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CODE_CACHE_FILE,
  compileFunction,
  runFunction,
} from '#infra/tools/bundle-functions/archive/function-script.ts';

/**
 * Cloud Build's `gcp-build` step: creates a code cache with the Node version that runs the function, which shortens
 * cold starts. The bundle runs until it exits because settings are missing: V8's cache includes the functions compiled
 * so far, and no requests are sent. A failure only makes cold starts slower, so it does not fail the deployment.
 */
function createCodeCache(directory: string): void {
  const script = compileFunction(directory, undefined);
  const { exit } = process;
  const { write } = process.stdout;
  try {
    process.exit = () => {
      throw new Error('The function exited because its settings are missing.');
    };
    process.stdout.write = () => true;
    runFunction(script, directory, withoutFramework());
  } catch {
    // Expected: the build has no settings.
  } finally {
    process.exit = exit;
    process.stdout.write = write;
  }
  const temporary = join(directory, `${CODE_CACHE_FILE}.part`);
  writeFileSync(temporary, script.createCachedData());
  renameSync(temporary, join(directory, CODE_CACHE_FILE));
}

/** A `require` with a stub of the functions-framework, which is not loaded in the build. */
function withoutFramework(): NodeJS.Require {
  const main = { require: () => ({ http: () => undefined }) };
  return Object.assign((name: string): unknown => require(name), { main }) as unknown as NodeJS.Require;
}

try {
  createCodeCache(__dirname);
} catch (error) {
  process.stdout.write(`No code cache was created; cold starts will be slower: ${String(error)}\n`);
}
// Timers or connections of libraries must not delay the deployment.
process.exit(0);
