import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installTarball, packTarball } from '../package/installed-program.ts';
import { openTutorialShell, type TutorialShell } from './tutorial-shell.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/tutorials/', import.meta.url));

/** The paths of the pages. */
export async function listTutorials(): Promise<readonly string[]> {
  return (await readdir(FOLDER)).sort().map((name) => join(FOLDER, name));
}

export type Tutorials = {
  /** A shell with the installed program, and with the file that `npm pack` writes in its folder. */
  openShell(): Promise<TutorialShell>;
  close(): Promise<void>;
};

/** Packs and installs the program once for all pages. */
export async function openTutorials(): Promise<Tutorials> {
  const directory = await mkdtemp(join(tmpdir(), 'dropforge-tarball-'));
  const tarball = await packTarball(directory);
  const programs = await installTarball(tarball, join(directory, 'prefix'));
  return {
    async openShell() {
      const shell = await openTutorialShell([programs]);
      await copyFile(tarball, join(shell.home, basename(tarball)));
      return shell;
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}
