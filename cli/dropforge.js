#!/usr/bin/env node
// Starts the CLI: in a checkout from its sources, in the npm package from its bundle. Plain JavaScript that imports
// nothing, so that any Node.js version can run this file, and a new one starts it at once.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 22 || (major === 22 && minor >= 16)) {
  start();
} else {
  import('./older-node.js');
}

function start() {
  const { existsSync, readFileSync } = process.getBuiltinModule('fs');
  const { join } = process.getBuiltinModule('path');
  const root = join(import.meta.dirname, '..');
  const isCheckout = existsSync(join(root, 'cli/main.ts'));
  const [word, ...others] = process.argv.slice(2);
  if (isCheckout && (major < 24 || !existsSync(join(root, 'node_modules/commander')))) {
    import('./older-node.js');
  } else if (!isCheckout && ['--help', '-h', 'help'].includes(word) && others.length === 0 && isWide()) {
    process.stdout.write(readFileSync(join(root, 'dist/help.txt')));
  } else {
    run(root, isCheckout);
  }
}

/** Whether the help, which was rendered for the package, fits the terminal. */
function isWide() {
  return !(process.stdout.columns < 120);
}

function run(root, isCheckout) {
  const { join } = process.getBuiltinModule('path');
  const cache = isCheckout ? join(root, 'node_modules/.cache') : findCache();
  if (cache !== undefined) {
    // Halves the start of most commands.
    process.getBuiltinModule('module').enableCompileCache(join(cache, 'compile'));
  }
  // Node.js calls its SQLite experimental before version 24.15, in a warning at each start.
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...rest) =>
    String(warning).startsWith('SQLite is an experimental') || emitWarning.call(process, warning, ...rest);
  import(isCheckout ? './main.ts' : '../dist/main.js');
}

/** A folder that only the caller can write, because what is cached is code; undefined if there is none. */
function findCache() {
  const { mkdirSync, statSync } = process.getBuiltinModule('fs');
  const { join } = process.getBuiltinModule('path');
  try {
    const home = process.env.HOME || process.getBuiltinModule('os').homedir();
    const folder = join(process.env.XDG_CACHE_HOME || join(home, '.cache'), 'dropforge');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    return process.getuid && (uid !== process.getuid() || (mode & 0o022) !== 0) ? undefined : folder;
  } catch {
    return undefined;
  }
}
