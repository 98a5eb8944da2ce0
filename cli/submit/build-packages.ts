import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { describeError, Failure, UsageFailure } from '#cli/core/failure.ts';
import type { PackageSource } from '#cli/submit/package-source.ts';
import { buildSourceDistribution } from '#cli/submit/source-distribution.ts';
import { buildWorkingDirectory } from '#cli/submit/working-directory.ts';

/** A package of this machine as it is to be uploaded. */
export type BuiltPackage = {
  readonly source: PackageSource;
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** What a user may want to know about how it was made. */
  readonly notes: readonly string[];
};

/** Builds or reads what is on this machine, and leaves objects out. Fails for what cannot be read, and for equal names. */
export async function buildPackages(sources: readonly PackageSource[]): Promise<readonly BuiltPackage[]> {
  const built: BuiltPackage[] = [];
  for (const source of sources) {
    built.push(...(await build(source)));
  }
  refuseEqualNames(built);
  return built;
}

async function build(source: PackageSource): Promise<readonly BuiltPackage[]> {
  switch (source.kind) {
    case 'OBJECT':
      return [];
    case 'ARCHIVE':
      return [
        { source, fileName: basename(source.path), bytes: await readArchive(source.path, source.flag), notes: [] },
      ];
    case 'FOLDER':
      return [{ source, ...(await buildSourceDistribution(source.path)) }];
    case 'WORKING_DIRECTORY':
      return [{ source, ...(await buildWorkingDirectory(source)) }];
  }
}

async function readArchive(path: string, flag: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Failure(`The package ${path} cannot be read (${describeError(error)}): check ${flag}.`);
  }
}

function refuseEqualNames(packages: readonly BuiltPackage[]): void {
  const names = packages.map(({ fileName }) => fileName);
  const double = names.find((name, index) => names.indexOf(name) !== index);
  if (double !== undefined) {
    throw new UsageFailure(`Two packages are named ${double}: rename one of them.`);
  }
}
