import { lstat, mkdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing } from '#infra/embedded/data-dir/ignore-missing.ts';

/**
 * Where the short paths of temporary directories are, whatever the path of the data directory: a Unix socket's path has
 * at most 107 characters (sun_path in unix(7); 103 on macOS), of which Python's multiprocessing takes 32.
 */
const ROOT = '/tmp';

type Vm = { readonly instanceId: string; readonly directory: string };

/** The value of TMPDIR: 37 characters for the instance ids of Compute Engine. */
export function temporaryPathOf(instanceId: string): string {
  return join(ROOT, `dropforge-vm-${instanceId}`);
}

/** Links the short path to a directory on the VM's disk, so that its files count towards the disk and end with it. */
export async function linkTemporaryDirectory({ instanceId, directory }: Vm): Promise<void> {
  const target = join(directory, 'tmp');
  const link = temporaryPathOf(instanceId);
  await mkdir(target, { recursive: true });
  if (await isLinkTo(link, target)) {
    return;
  }
  try {
    await symlink(target, link);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The VM's temporary directory ${link} could not be created: ${reason}. Remove what is there.`);
  }
}

/** Removes the short path if it is this VM's. The directory itself is removed with the disk. */
export async function unlinkTemporaryDirectory({ instanceId, directory }: Vm): Promise<void> {
  const link = temporaryPathOf(instanceId);
  if (await isLinkTo(link, join(directory, 'tmp'))) {
    await rm(link, { force: true });
  }
}

async function isLinkTo(link: string, target: string): Promise<boolean> {
  const found = await lstat(link).catch(ignoreMissing);
  return found?.isSymbolicLink() === true && (await readlink(link).catch(ignoreMissing)) === target;
}
