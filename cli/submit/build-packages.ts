import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { describeError, Failure, UsageFailure } from '#cli/core/failure.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import { isFile } from '#cli/submit/source-files.ts';
import { listFirst } from '#shared/text/list-first.ts';

/** A local package, ready to be uploaded. */
export type BuiltPackage = {
  readonly source: PackageSource;
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** Symbolic links that it leaves out. */
  readonly links?: readonly string[];
};

const SHOWN_LINKS_MAX = 5;

/** Says which symbolic links the packages leave out; empty if there are none. */
export function describeLinks(built: readonly BuiltPackage[]): readonly string[] {
  const links = built.flatMap((one) => one.links ?? []);
  const names = listFirst(links, SHOWN_LINKS_MAX);
  return links.length === 0
    ? []
    : [
        `Not packed, since they are symbolic links to folders, to outside of the package, or to what does not exist: ${names}. Copy what is needed.`,
      ];
}

/** Builds or reads local packages; skips objects. Throws if one cannot be read, or if two have the same name. */
export async function buildPackages(sources: readonly PackageSource[]): Promise<readonly BuiltPackage[]> {
  const built: BuiltPackage[] = [];
  for (const source of sources) {
    built.push(...(await build(source)));
  }
  rejectDuplicateNames(built);
  return built;
}

async function build(source: PackageSource): Promise<readonly BuiltPackage[]> {
  switch (source.kind) {
    case 'OBJECT':
      return [];
    case 'ARCHIVE':
      return [{ source, fileName: basename(source.path), bytes: await readArchive(source.path, source.flag) }];
    case 'FOLDER':
      // An archive is a folder that is packed already.
      if (!source.path.endsWith('.py') && (await isFile(source.path))) {
        return [{ source, fileName: basename(source.path), bytes: await readArchive(source.path, '--package-path') }];
      }
      return [{ source, ...(await buildSourceDistribution(source.path)) }];
    case 'WORKING_DIRECTORY':
      return [
        {
          source,
          ...(await buildSourceDistribution(source.path, { requirements: source.requirements, isWhole: true })),
        },
      ];
  }
}

async function readArchive(path: string, flag: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure(`The package ${path} cannot be read (${describeError(error)}): check ${flag}.`);
  }
}

function rejectDuplicateNames(packages: readonly BuiltPackage[]): void {
  const names = packages.map(({ fileName }) => fileName);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) {
    throw new UsageFailure(`Two packages are named ${duplicate}: rename one of them.`);
  }
}
