import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#cli/core/failure.ts';
import type { WorkingDirectory } from '#cli/submit/package-source.ts';
import { buildSourceDistribution, type SourceDistribution } from '#cli/submit/source-distribution.ts';

/** A name with extras and versions (PyPA, "Dependency specifiers"): what `install_requires` takes as pip does. */
const SIMPLE_REQUIREMENT = /^[A-Za-z0-9][\w.-]*\s*(\[[\w.,\s-]*\])?\s*([<>=!~]=?[^;,\s]+(\s*,\s*[<>=!~]=?[^;,\s]+)*)?$/;

/**
 * Builds what `gcloud ai custom-jobs create --worker-pool-spec=local-package-path=…` makes an image of: the package of
 * the module to be run, with the requirements that are given and those of requirements.txt. A project with a setup.py
 * or pyproject.toml of its own is taken whole.
 */
export async function buildWorkingDirectory(source: WorkingDirectory): Promise<SourceDistribution> {
  const { path, module } = source;
  const [top = ''] = module.split('.');
  const isProject = (await exists(join(path, 'setup.py'))) || (await exists(join(path, 'pyproject.toml')));
  const hasPackage = !isProject && (await exists(join(path, top, '__init__.py')));
  const listed = isProject ? [] : await readRequirements(join(path, 'requirements.txt'));
  const requirements = [...source.requirements, ...listed];
  const odd = requirements.find((requirement) => !SIMPLE_REQUIREMENT.test(requirement));
  if (odd !== undefined) {
    throw new Failure(
      `The requirement '${odd}' of ${path} is not a name with versions, such as numpy>=2: give its archive with ` +
        'extra-packages, or write a setup.py with install_requires.',
    );
  }
  return buildSourceDistribution(hasPackage ? join(path, top) : path, {}, [...new Set(requirements)]);
}

/** Lines without comments. */
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
