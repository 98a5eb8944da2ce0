// Runs on a Node.js that is too old for the CLI, or in a checkout without its packages: starts the checkout's own
// Node.js, or says what to install. Plain JavaScript, so that any Node.js version can run this file.
import { spawn } from 'child_process';
import { existsSync } from 'fs';
import { constants } from 'os';
import { fileURLToPath } from 'url';

const root = fileURLToPath(new URL('..', import.meta.url));
const ownNode = `${root}node_modules/node/bin/node`;

if (!existsSync(`${root}cli/main.ts`)) {
  fail(`Dropforge needs Node.js 22.16 or newer, and this is ${process.version}: install Node.js 24 (https://nodejs.org).`);
} else if (!existsSync(ownNode)) {
  fail(`Dropforge is not installed yet: run \`npm ci\` in ${root}`);
} else {
  const program = fileURLToPath(new URL('dropforge.js', import.meta.url));
  const child = spawn(ownNode, [program, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(code === null ? 128 + constants.signals[signal] : code));
}

function fail(problem) {
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 1;
}
