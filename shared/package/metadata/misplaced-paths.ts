import { posix } from 'node:path';
import { decideLayout, type PackageTree } from '#shared/package/metadata/package-layout.ts';
import { leadsOut, type RelativePath } from '#shared/package/scan/relative-paths.ts';

/** A path in the program's file that is right from `workdir`, relative to the root of the package. */
export type MisplacedPath = RelativePath & { readonly workdir: string };

/**
 * The first string of the program's file that names a file or folder of the package from its own folder, and nothing
 * from the folder in which it starts. The agent links the files beside a script into that folder (`link_neighbors`), so
 * that of a script only paths that lead out of its folder count. Null for an installed module, which has no folder.
 */
export function findMisplacedPath(
  tree: PackageTree,
  module: string,
  relativePaths: ReadonlyMap<string, readonly RelativePath[]>,
): MisplacedPath | null {
  const { program, workingDirectory } = decideLayout(tree, module);
  if (program === null || workingDirectory === null) {
    return null;
  }
  const isScript = program.kind === 'SCRIPT';
  const folder = posix.dirname(program.path);
  const found = relativePaths
    .get(program.path)
    ?.find(
      ({ text }) =>
        (!isScript || leadsOut(text)) && exists(tree, folder, text) && !exists(tree, workingDirectory, text),
    );
  return found === undefined ? null : { ...found, workdir: posix.relative(workingDirectory, folder) };
}

/** A template, such as `../data/%s` or `../data/{name}`, exists if the folder before its first place does. */
function exists({ paths }: PackageTree, folder: string, text: string): boolean {
  const fixed = /[%{*]/.test(text) ? posix.dirname(text.replace(/[%{*].*/, '_')) : text;
  const path = posix.join(folder, fixed).replace(/\/$/, '');
  return paths.has(path) || [...paths].some((one) => one.startsWith(`${path}/`));
}
