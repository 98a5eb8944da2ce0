#!/usr/bin/env node
// Starts the CLI with the project's own Node.js if the caller's version is too old to run TypeScript. Plain JavaScript,
// so that any Node.js version can run this file.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const MAJOR_MIN = 24;

const root = fileURLToPath(new URL('..', import.meta.url));
const ownNode = `${root}node_modules/node/bin/node`;
const isNewEnough = Number(process.versions.node.split('.')[0]) >= MAJOR_MIN;

if (!existsSync(isNewEnough ? `${root}node_modules/commander` : ownNode)) {
  process.stderr.write(`error: Dropforge is not installed yet: run \`npm ci\` in ${root}\n`);
  process.exitCode = 1;
} else if (isNewEnough) {
  // Halves the start of most commands. Node's default is a folder that others can write, and what is cached is code.
  module.enableCompileCache(`${root}node_modules/.cache/compile`);
  await import(new URL('main.ts', import.meta.url).href);
} else {
  const child = spawn(ownNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
