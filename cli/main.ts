#!/usr/bin/env node
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import type { WriteStream } from 'node:tty';
import type { Output } from '#cli/core/command.ts';
import { findProgramName, setProgramNameSource } from '#cli/core/program-name.ts';
import { run } from '#cli/run.ts';
import { exceptLoopback } from '#infra/network/proxy-exceptions.ts';

// The CLI gets the storage endpoint from the data directory. The storage library would prefer this variable, which
// `dropforge env` sets for other programs of the same shell.
delete process.env.STORAGE_EMULATOR_HOST;
// Prevents Google's library from probing the network for a metadata server, which prints warnings on some networks.
process.env.METADATA_SERVER_DETECTION ||= 'bios-only';
exceptLoopback(process.env);

/**
 * Signals within this time are duplicates: a process group's signal arrives twice if npm or `dropforge.js` forwards it.
 */
const DUPLICATE_SIGNAL_MS_MAX = 500;

setProgramNameSource(() => findProgramName({ searchPath: process.env.PATH ?? '', cwd: process.cwd() }));

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  let firstAt: number | undefined;
  process.on(signal, () => {
    firstAt ??= Date.now();
    interruption.abort();
    if (Date.now() - firstAt > DUPLICATE_SIGNAL_MS_MAX) {
      process.exit(128 + constants.signals[signal]);
    }
  });
}
// Sent by a closed terminal and again by its shell, so a second one does not force an exit.
process.on('SIGHUP', () => interruption.abort());

// VMs are processes that outlive this one, so a command that started a cloud must stop it before exiting.
let hasStartedCloud = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (hasStartedCloud) {
    interruption.abort();
  } else {
    // EPIPE: the reader of the pipe closed it (`| head`), which is not an error.
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  }
});
// A closed stderr must not prevent cleanup.
process.stderr.on('error', () => {});

process.exitCode = await run(process.argv.slice(2), {
  stdout: createOutput(process.stdout),
  stderr: createOutput(process.stderr),
  openStdin: () => process.stdin,
  cwd: process.cwd(),
  dataDir: process.env.DROPFORGE_DATA_DIR || undefined,
  deployment: process.env.DROPFORGE_DEPLOYMENT || undefined,
  // XDG Base Directory Specification, "Environment variables".
  stateDir: join(process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'dropforge'),
  interrupted: interruption.signal,
  startCloud: async (options) => {
    if (process.platform === 'win32') {
      const { Failure } = await import('#cli/core/failure.ts');
      throw new Failure(
        'The embedded cloud runs on Linux and macOS. On Windows, run it in WSL (https://aka.ms/wsl); deploy files, jobs validate, version and, with --deployment, the commands of jobs need no embedded cloud.',
      );
    }
    hasStartedCloud = true;
    const { startEmbeddedCloud } = await import('#infra/embedded/embedded-cloud.ts');
    return startEmbeddedCloud({ ...options, environment: process.env });
  },
  hasContainerEngine: async () => {
    const { hasContainerEngine } = await import('#infra/embedded/container-engine.ts');
    return hasContainerEngine(process.env);
  },
});
// A request that is not answered would keep the process alive.
if (interruption.signal.aborted && !hasStartedCloud) {
  process.exit();
}

function createOutput(stream: WriteStream): Output {
  return {
    write: (data) => void stream.write(data),
    terminal: stream.isTTY ? stream : null,
    // https://no-color.org: NO_COLOR disables colors if it is set and not empty.
    hasColors: stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  };
}
