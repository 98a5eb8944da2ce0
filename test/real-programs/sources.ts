import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Source = { readonly commit: string; readonly path: string };

/** The clone `OWNER/NAME`, bare or not, below the folder of sources; undefined if it is not there. */
export function findClone(sources: string, repository: string): string | undefined {
  const clone = join(sources, repository);
  return [join(clone, '.git'), clone].find((directory) => existsSync(join(directory, 'HEAD')));
}

/** Writes the files of a commit below a path to a new folder, without its history, its tests and environments packed by mistake. */
export async function exportSource(clone: string, { commit, path }: Source, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const tree = path === '.' ? commit : `${commit}:${path}`;
  const script = `git --git-dir="$0" archive "$1" -- . ':(exclude)tests' ':(exclude).venv' | tar -x -C "$2"`;
  await run('sh', ['-c', script, clone, tree, folder]);
}
