import { access, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describeError, Failure, UsageFailure } from '#cli/core/failure.ts';
import type { PackageSource, WorkingDirectory } from '#cli/submit/package-source.ts';
import { buildSourceDistribution, type SourceDistribution } from '#cli/submit/source-distribution.ts';

/** A local package, ready to be uploaded. */
export type BuiltPackage = {
  readonly source: PackageSource;
  readonly fileName: string;
  readonly bytes: Uint8Array;
  /** Messages for the user about how the package was built. */
  readonly notes: readonly string[];
};

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

function rejectDuplicateNames(packages: readonly BuiltPackage[]): void {
  const names = packages.map(({ fileName }) => fileName);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) {
    throw new UsageFailure(`Two packages are named ${duplicate}: rename one of them.`);
  }
}

/** A name with extras and versions (PyPA, "Dependency specifiers"), which `install_requires` handles as pip does. */
const SIMPLE_REQUIREMENT = /^[A-Za-z0-9][\w.-]*\s*(\[[\w.,\s-]*\])?\s*([<>=!~]=?[^;,\s]+(\s*,\s*[<>=!~]=?[^;,\s]+)*)?$/;

/**
 * Builds a package from a working directory, for which `gcloud ai custom-jobs create
 * --worker-pool-spec=local-package-path=…` builds a container image: the top-level package of the module to run, with
 * the given requirements and those of requirements.txt. A project with a setup.py or pyproject.toml is packaged as a
 * whole.
 */
async function buildWorkingDirectory(source: WorkingDirectory): Promise<SourceDistribution> {
  const { path, module } = source;
  const [top = ''] = module.split('.');
  const isProject = (await exists(join(path, 'setup.py'))) || (await exists(join(path, 'pyproject.toml')));
  const hasPackage = !isProject && (await exists(join(path, top, '__init__.py')));
  const listed = isProject ? [] : await readRequirements(join(path, 'requirements.txt'));
  const requirements = [...source.requirements, ...listed];
  const unsupported = requirements.find((requirement) => !SIMPLE_REQUIREMENT.test(requirement));
  if (unsupported !== undefined) {
    throw new Failure(
      `The requirement '${unsupported}' of ${path} is not a name with versions, such as numpy>=2: pass its archive in ` +
        'extra-packages, or add a setup.py with install_requires.',
    );
  }
  return buildSourceDistribution(hasPackage ? join(path, top) : path, {}, [...new Set(requirements)]);
}

/** Returns the file's lines without comments; empty if the file does not exist. */
async function readRequirements(path: string): Promise<readonly string[]> {
  if (!(await exists(path))) {
    return [];
  }
  const lines = (await readFile(path, 'utf8')).split('\n');
  return lines.map((line) => line.replace(/(^|\s)#.*$/, '').trim()).filter((line) => line !== '');
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
