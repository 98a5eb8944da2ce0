import { expect } from 'vitest';
import { inspectPackage } from '#shared/package/inspect-package.ts';
import { sourceOf, tarGzOf } from './build-archives.ts';

export type Files = Readonly<Record<string, string>>;

/** The layout of a folder with these files beside train.py, and the warnings about it. */
export async function installedOf(files: Files) {
  const all = { 'train.py': 'print(1)\n', ...files };
  const entries = Object.entries(all).map(([path, data]) => ({ path: `mine/${path}`, data }));
  const { problems, warnings, layoutOf } = await inspectPackage(sourceOf('mine.tar.gz', tarGzOf(entries)));
  expect(problems).toEqual([]);
  const { style, requirementFiles = [], requirements = [] } = layoutOf('train') ?? {};
  return { style, requirementFiles, requirements, said: warnings.map(({ code, message }) => `${code}: ${message}`) };
}
