import { printablePath } from '#shared/package/archive/package-problem.ts';
import type { PackageFiles, Project } from '#shared/package/metadata/package-files.ts';
import type { PythonModules } from '#shared/package/metadata/python-modules.ts';
import type { CredentialKind } from '#shared/package/scan/credential-patterns.ts';
import { SCAN_LIMITS } from '#shared/package/scan/file-scan.ts';
import type { DistributionIndicator } from '#shared/package/scan/python-indicators.ts';

/** Facts about a package whose meaning depends on the job's machines; input of the lint checks. Paths are printable. */
export type PackageEvidence = {
  /** Whether every Python source was scanned; otherwise the absence of an indicator means nothing. */
  readonly isComplete: boolean;
  /** Top-level names of imported modules, limited to those that lint checks use. */
  readonly imports: ReadonlySet<string>;
  readonly distribution: ReadonlySet<DistributionIndicator>;
  readonly credentials: readonly { readonly path: string; readonly kind: CredentialKind }[];
  /** Files that Python 3 cannot parse, with the first such line and the file's name for `python -m`. */
  readonly python2: readonly { readonly path: string; readonly line: number; readonly module: string | null }[];
  /** Whether pip runs setup.py: a pyproject.toml may specify another build backend. */
  readonly isBuiltBySetupScript: boolean;
  /** Requirements files that a build file reads. */
  readonly requirementFiles: readonly { readonly path: string; readonly text: string }[];
  /** Wheels inside the archive that are CPU-only builds (`+cpu` in the version). */
  readonly cpuWheels: readonly string[];
  /** `[tool.dropforge] ignore` of pyproject.toml. */
  readonly ignoredChecks: readonly string[];
};

/** The evidence of a package that could not be read completely. */
export const NO_EVIDENCE: PackageEvidence = {
  isComplete: false,
  imports: new Set(),
  distribution: new Set(),
  credentials: [],
  python2: [],
  isBuiltBySetupScript: false,
  requirementFiles: [],
  cpuWheels: [],
  ignoredChecks: [],
};

const CPU_WHEEL = /(?:^|\/)[^/]+\+cpu-[^/]+\.whl$/i;

type ProjectModules = { readonly project: Project; readonly modules: PythonModules };

export function gatherEvidence(files: PackageFiles, { project, modules }: ProjectModules): PackageEvidence {
  const { evidence } = files;
  const python2 = [...evidence.python2Lines].map(([path, line]) => {
    const printable = printablePath(path);
    const module = [...modules.runnable].find(([, file]) => files.pathOf(file) === printable)?.[0];
    return { path: printable, line, module: module ?? null };
  });
  return {
    isComplete: evidence.isComplete,
    imports: evidence.imports,
    distribution: evidence.distribution,
    credentials: evidence.credentials.map(({ path, kind }) => ({ path: printablePath(path), kind })),
    python2,
    isBuiltBySetupScript: files.has('setup.py') && !files.has('pyproject.toml'),
    requirementFiles: project.requirementFiles.map((path) => ({
      path,
      text: evidence.requirementFiles.get(path) ?? '',
    })),
    cpuWheels: files.paths
      .filter((path) => CPU_WHEEL.test(path))
      .slice(0, SCAN_LIMITS.findingCountMax)
      .map((path) => files.pathOf(path)),
    ignoredChecks: project.ignoredChecks,
  };
}
