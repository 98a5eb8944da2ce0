import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CODE_CACHE_FILE,
  compileFunction,
  runFunction,
} from '#infra/tools/bundle-functions/archive/function-script.ts';

/**
 * Cloud Build's `gcp-build` step: compiles the bundle with the Node that will run it, so that no start has to. The
 * bundle is run as far as it goes without settings, for V8 keeps what it has compiled until then; it speaks to nobody.
 * A failure here costs time at each start and nothing else, so it fails no deployment.
 */
function compileAhead(directory: string): void {
  const script = compileFunction(directory, undefined);
  const { exit } = process;
  const { write } = process.stdout;
  try {
    process.exit = () => {
      throw new Error('The function has asked for its settings.');
    };
    process.stdout.write = () => true;
    runFunction(script, directory, withoutFramework());
  } catch {
    // It always ends so: there are no settings here.
  } finally {
    process.exit = exit;
    process.stdout.write = write;
  }
  const temporary = join(directory, `${CODE_CACHE_FILE}.part`);
  writeFileSync(temporary, script.createCachedData());
  renameSync(temporary, join(directory, CODE_CACHE_FILE));
}

/** The functions-framework is not there yet when this runs: nothing is registered with anybody. */
function withoutFramework(): NodeJS.Require {
  const main = { require: () => ({ cloudEvent: () => undefined, http: () => undefined }) };
  return Object.assign((name: string): unknown => require(name), { main }) as unknown as NodeJS.Require;
}

try {
  compileAhead(__dirname);
} catch (error) {
  process.stdout.write(`The function was not compiled beforehand and will start later: ${String(error)}\n`);
}
// Whatever a library has begun by now must not hold up a deployment.
process.exit(0);
