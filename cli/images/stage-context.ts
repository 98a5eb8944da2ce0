import { chmod, constants, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BuildContext } from '#cli/images/build-context.ts';

/** What is in a staged folder: the Dockerfile, and beside it the folder with exactly the files of the build. */
export const STAGED = { dockerfile: 'Dockerfile', context: 'context' } as const;

export type StagedBuild = { readonly folder: string; remove(): Promise<void> };

/**
 * Copies the files of a build into a temporary folder, with permissions that do not depend on this machine, so that
 * every engine, and Cloud Build, gets the same ones. A process that is killed leaves it in the temporary files.
 */
export async function stageBuild(context: BuildContext, dockerfile: string): Promise<StagedBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'dropforge-image-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await mkdir(join(folder, STAGED.context), { mode: 0o755 });
    for (const { path, isExecutable, target } of context.files) {
      const copy = join(folder, STAGED.context, path);
      await mkdir(dirname(copy), { recursive: true, mode: 0o755 });
      if (target === null) {
        await copyFile(join(context.directory, path), copy, constants.COPYFILE_FICLONE);
        await chmod(copy, isExecutable ? 0o755 : 0o644);
      } else {
        await symlink(target, copy);
      }
    }
    await writeFile(join(folder, STAGED.dockerfile), dockerfile);
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
