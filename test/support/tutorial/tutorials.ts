import { copyFile, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InstalledPackage } from '#infra/tools/release/install-package.ts';
import { startGoogleProvider } from '../terraform/google-provider.ts';
import { readGoogleSchema } from '../terraform/provider-schema.ts';
import { playTutorial } from './play-tutorial.ts';
import { openTutorialShell } from './tutorial-shell.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/tutorials/', import.meta.url));

export type Tutorial = {
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** Whether its programs import a framework. */
  readonly needsTorch: boolean;
  readonly needsTerraform: boolean;
};

export async function readTutorials(): Promise<readonly Tutorial[]> {
  const names = (await readdir(FOLDER)).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(FOLDER, name);
      const text = await readFile(path, 'utf8');
      return { name, path, text, needsTorch: /import torch/.test(text), needsTerraform: /^\$ terraform/m.test(text) };
    }),
  );
}

/** The program that readers have installed, and the file that it was installed from. */
export type Installation = { readonly installed: InstalledPackage; readonly tarball: string };

/**
 * Plays a page in a shell of its own, and returns it with the outputs of now. Terraform gets a provider that has the
 * schema of Google's. The first folders of the PATH may have another Python.
 */
export async function playInShell(
  { text, needsTerraform }: Tutorial,
  { installed, tarball }: Installation,
  folders: readonly string[] = [],
): Promise<string> {
  const provider = needsTerraform ? await startGoogleProvider(readGoogleSchema()) : undefined;
  const variables = {
    // A machine whose packages are in folders may have no index to wait for.
    PIP_RETRIES: '0',
    PIP_TIMEOUT: '5',
    ...(provider !== undefined && { TF_REATTACH_PROVIDERS: provider.reattach, CHECKPOINT_DISABLE: '1' }),
  };
  const shell = await openTutorialShell([...folders, join(installed.directory, '../../../bin')], variables);
  try {
    await copyFile(tarball, join(shell.home, basename(tarball)));
    return await playTutorial(text, shell);
  } finally {
    await shell.close();
    await provider?.close();
  }
}
