#!/usr/bin/env node
import { constants } from 'node:os';
import type { WriteStream } from 'node:tty';
import type { Output } from '#cli/core/command.ts';
import { findProgramName, nameProgram } from '#cli/core/program-name.ts';
import { run } from '#cli/run.ts';

// The CLI finds its cloud by the data directory. `dropforge env` may have set this for other programs of the same
// shell, and the storage library would prefer it.
delete process.env.STORAGE_EMULATOR_HOST;
// Google's library else asks the network whether this is a machine of Google's, and warns where the answer is odd.
process.env.METADATA_SERVER_DETECTION ||= 'bios-only';

/** A signal for a whole group of processes comes twice, where npm or `dropforge.js` passes it on as well. */
const ECHO_MS_MAX = 500;

nameProgram(() => findProgramName({ searchPath: process.env.PATH ?? '', cwd: process.cwd() }));

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  let firstAt: number | undefined;
  process.on(signal, () => {
    firstAt ??= Date.now();
    interruption.abort();
    if (Date.now() - firstAt > ECHO_MS_MAX) {
      process.exit(128 + constants.signals[signal]);
    }
  });
}
// A terminal that is closed sends it, and the shell in it once more: the second one is no sign of impatience.
process.on('SIGHUP', () => interruption.abort());

// VMs are processes that live on without this one: whoever has started a cloud ends it before leaving.
let hasStartedCloud = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (hasStartedCloud) {
    interruption.abort();
  } else {
    // The reader of a pipe may leave early (`| head`): that ends the work, and is no error.
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  }
});
// What cannot be said any more must not keep anything from being done.
process.stderr.on('error', () => {});

process.exitCode = await run(process.argv.slice(2), {
  stdout: createOutput(process.stdout),
  stderr: createOutput(process.stderr),
  openStdin: () => process.stdin,
  cwd: process.cwd(),
  dataDir: process.env.DROPFORGE_DATA_DIR || undefined,
  deployment: process.env.DROPFORGE_DEPLOYMENT || undefined,
  interrupted: interruption.signal,
  startCloud: async (options) => {
    hasStartedCloud = true;
    const { startEmbeddedCloud } = await import('#infra/embedded/embedded-cloud.ts');
    return startEmbeddedCloud({ ...options, environment: process.env });
  },
});

function createOutput(stream: WriteStream): Output {
  return {
    write: (data) => void stream.write(data),
    terminal: stream.isTTY ? stream : null,
    // NO_COLOR, https://no-color.org: any value but an empty one.
    hasColours: stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
  };
}
