import { posix } from 'node:path';
import type { RepositoryFile } from './repository-files.ts';

export type Import = {
  readonly from: string;
  /** The specifier as written: a path with `#`, a relative path, a package, or `node:`. */
  readonly specifier: string;
  /** The imported file of this repository; null for packages and built-in modules. */
  readonly to: string | null;
};

const SPECIFIERS = /\b(?:from\s|import\s*\(?)\s*'([^']+)'|(?:new URL\(|import\.meta\.dirname,)\s*'([^':]+\.tsx?)'/g;

/** Every import of the TypeScript files, including files that a worker or process is started from. */
export function listImports(files: readonly RepositoryFile[]): readonly Import[] {
  return files
    .filter(({ path }) => /\.tsx?$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(SPECIFIERS)].map(([, imported, started]) => {
        const specifier = imported ?? `./${started}`;
        return { from: path, specifier, to: resolve(path, specifier) };
      }),
    );
}

function resolve(from: string, specifier: string): string | null {
  if (specifier.startsWith('#')) {
    return specifier.slice(1);
  }
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : null;
}
