import { nameOfRequirement, normalizeName } from '#shared/package/metadata/core-metadata.ts';
import { LIBRARIES_TO_RUN, TOOLS_OF_PYTHON } from '#shared/python/python-packages.ts';

const LINES_MAX = 2_000;

export type Surroundings = {
  /** Requirements, and the lines of requirements files. */
  readonly requirements: readonly string[];
  /** The modules that the package's code imports. */
  readonly imports: ReadonlySet<string>;
  /** Modules and packages that the package contains. */
  readonly own: Iterable<string>;
};

/**
 * Whether a module that the package does not contain is probably installed with it: one of a requirement, of a library
 * that the code imports, or of Python itself. A name below one of the package's own is a mistake.
 */
export function isInstalledModule(module: string, { requirements, imports, own }: Surroundings): boolean {
  const [top = ''] = module.split('.');
  const isOwn = [...own].some((name) => name === top || name.startsWith(`${top}.`));
  if (isOwn || module.endsWith('.py')) {
    return false;
  }
  return (
    TOOLS_OF_PYTHON.has(module) ||
    (LIBRARIES_TO_RUN.has(top) && imports.has(top)) ||
    requirements.slice(0, LINES_MAX).some((line) => nameOfRequirement(line.trim()) === normalizeName(top))
  );
}
