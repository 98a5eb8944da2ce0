#!/usr/bin/env node
// Starts the CLI: in a checkout from its sources, with the checkout's own Node.js if the caller's version is too old to
// run TypeScript; in the npm package from its bundle. Plain JavaScript, so that any Node.js version can run this file.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const ownNode = join(root, 'node_modules/node/bin/node');
const source = join(root, 'cli/main.ts');
const isCheckout = existsSync(source);
const isNewEnough = isAtLeast(isCheckout ? [24, 0] : [22, 16]);

if (isCheckout ? !existsSync(isNewEnough ? join(root, 'node_modules/commander') : ownNode) : !isNewEnough) {
  const problem = isCheckout
    ? `Dropforge is not installed yet: run \`npm ci\` in ${root}`
    : `Dropforge needs Node.js 22.16 or newer, and this is ${process.version}: install Node.js 24 (https://nodejs.org).`;
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 1;
} else if (isNewEnough) {
  start(isCheckout ? source : join(root, 'dist/main.js'));
} else {
  const child = spawn(ownNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(code === null ? 128 + constants.signals[signal] : code));
}

function isAtLeast([major, minor]) {
  const version = process.versions.node.split('.').map(Number);
  return version[0] > major || (version[0] === major && version[1] >= minor);
}

function start(main) {
  const cache = isCheckout ? join(root, 'node_modules/.cache/compile') : findCache();
  if (cache !== undefined) {
    // Halves the start of most commands.
    module.enableCompileCache(cache);
  }
  // Node.js calls its SQLite experimental before version 24.15, in a warning at each start.
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...rest) =>
    String(warning).startsWith('SQLite is an experimental') || emitWarning.call(process, warning, ...rest);
  import(pathToFileURL(main).href);
}

/** A folder that only the caller can write, because what is cached is code; undefined if there is none. */
function findCache() {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'dropforge');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    return process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0) ? undefined : join(folder, 'compile');
  } catch {
    return undefined;
  }
}
