import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type StorageDoorUnderTest = {
  readonly directory: string;
  origin(): string;
  /** `kill -9`, and a new process on the same directory, at another port. */
  killAndRestart(): Promise<void>;
  peakMemoryBytes(): Promise<number>;
  close(): Promise<void>;
};

/** The storage door in a process of its own, so that it can be killed and its memory be measured. */
export async function openStorageDoor(): Promise<StorageDoorUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-door-'));
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
