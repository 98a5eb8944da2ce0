import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type RepositoryFile = {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Empty for binary files. */
  readonly text: string;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXT_BYTES_MAX = 2 ** 20;

/** All files that git tracks, or neither tracks nor ignores. */
export function readRepository(): readonly RepositoryFile[] {
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' });
  return [...new Set(listed.split('\0'))]
    .filter((path) => path !== '' && statSync(join(ROOT, path), { throwIfNoEntry: false })?.isFile())
    .map(readFile);
}

function readFile(path: string): RepositoryFile {
  const sizeBytes = statSync(join(ROOT, path)).size;
  const text = sizeBytes > TEXT_BYTES_MAX ? '' : readFileSync(join(ROOT, path), 'utf8');
  return { path, sizeBytes, text: text.includes('\0') || text.includes('\ufffd') ? '' : text };
}

/** The matching lines as `path:line: text`. */
export function findLines({ path, text }: RepositoryFile, pattern: RegExp): readonly string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
}
