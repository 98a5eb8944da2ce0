import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type RepositoryFile = {
  /** From the repository's root, with forward slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  /** Empty for files that are no text. */
  readonly text: string;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXT_BYTES_MAX = 2 ** 20;

/** Everything that is, or would be, in the repository: what git tracks, and what it neither tracks nor ignores. */
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

/** The lines that match, as `path:line: text`: a place to go to. */
export function findLines({ path, text }: RepositoryFile, pattern: RegExp): readonly string[] {
  return text
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
}
