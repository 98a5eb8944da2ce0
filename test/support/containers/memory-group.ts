import { access, constants, mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';

/** A control group with a memory limit, into which processes are put. */
export type MemoryGroup = { add(pid: number | undefined): Promise<void>; remove(): Promise<void> };

/** Null if this user cannot create control groups. */
export async function createMemoryGroup(bytesMax: number): Promise<MemoryGroup | null> {
  const isV1 = await isWritable(join(V1, 'memory.limit_in_bytes'));
  const folder = join(isV1 ? V1 : V2, `dropforge-test-${process.pid}`);
  try {
    await mkdir(folder);
    await writeFile(join(folder, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(bytesMax));
  } catch {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    return null;
  }
  return {
    add: (pid) => writeFile(join(folder, 'cgroup.procs'), String(pid)),
    // Empty as soon as its processes are reaped.
    remove: () => rmdir(folder),
  };
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}
