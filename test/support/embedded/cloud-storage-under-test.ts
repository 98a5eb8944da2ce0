import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type CloudStorageUnderTest = {
  readonly directory: string;
  origin(): string;
  /** Kills the process with `kill -9` and starts a new one on the same directory, on another port. */
  killAndRestart(): Promise<void>;
  peakMemoryBytes(): Promise<number>;
  close(): Promise<void>;
};

/** The Cloud Storage emulator in its own process, so that it can be killed and its memory measured. */
export async function openCloudStorage(): Promise<CloudStorageUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-storage-'));
  let child: ChildProcess;
  let port = 0;

  async function start(): Promise<void> {
    child = fork(join(import.meta.dirname, 'cloud-storage-process.ts'), [directory], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [started] = (await once(child, 'message')) as [{ port: number }];
    port = started.port;
  }

  async function kill(): Promise<void> {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  }

  await start();
  return {
    directory,
    origin: () => `http://127.0.0.1:${port}`,
    async killAndRestart() {
      await kill();
      await start();
    },
    async peakMemoryBytes() {
      const answered = once(child, 'message') as Promise<[{ peakBytes: number }]>;
      child.send('peak');
      const [{ peakBytes }] = await answered;
      return peakBytes;
    },
    async close() {
      await kill();
      await rm(directory, { recursive: true });
    },
  };
}
