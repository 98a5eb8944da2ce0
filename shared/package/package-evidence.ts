import { showPath } from '#shared/package/archive/package-problem.ts';
import type { PackageFiles, Project } from '#shared/package/metadata/package-files.ts';
import type { PythonModules } from '#shared/package/metadata/python-modules.ts';
import type { CredentialKind } from '#shared/package/scan/credential-signs.ts';
import type { DistributionSign } from '#shared/package/scan/python-signs.ts';
import { SCAN_LIMITS } from '#shared/package/scan/scan-limits.ts';

/** What was seen in a package that is right or wrong only beside the machines that it is to run on. Paths can be shown. */
export type PackageEvidence = {
  /** Whether every Python source was looked into: only then does it mean something that a sign is missing. */
  readonly isComplete: boolean;
  /** Top-level names of imported modules, of those that advice depends on. */
  readonly imports: ReadonlySet<string>;
  readonly distribution: ReadonlySet<DistributionSign>;
  readonly credentials: readonly { readonly path: string; readonly kind: CredentialKind }[];
  /** Files that no Python 3 parses, with the first such line and the module that `python -m` would call them. */
  readonly python2: readonly { readonly path: string; readonly line: number; readonly module: string | null }[];
  /** Whether pip runs setup.py: a pyproject.toml may name another way to build. */
  readonly isBuiltBySetupScript: boolean;
  /** Texts of requirement files that a build file reads. */
  readonly requirementFiles: readonly { readonly path: string; readonly text: string }[];
  /** Wheels of a CPU-only build (`+cpu` in the version) that lie inside the archive. */
  readonly cpuWheels: readonly string[];
  /** `[tool.dropforge] ignore` of pyproject.toml. */
  readonly ignoredChecks: readonly string[];
};

/** Of a package that could not be read to its end. */
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

type Known = { readonly project: Project; readonly modules: PythonModules };

export function gatherEvidence(files: PackageFiles, { project, modules }: Known): PackageEvidence {
  const { signs } = files;
  const python2 = [...signs.python2Lines].map(([path, line]) => {
    const shown = showPath(path);
    const module = [...modules.runnable].find(([, file]) => files.pathOf(file) === shown)?.[0];
    return { path: shown, line, module: module ?? null };
  });
  return {
    isComplete: signs.isComplete,
    imports: signs.imports,
    distribution: signs.distribution,
    credentials: signs.credentials.map(({ path, kind }) => ({ path: showPath(path), kind })),
    python2,
    isBuiltBySetupScript: files.has('setup.py') && !files.has('pyproject.toml'),
    requirementFiles: project.requirementFiles.map((path) => ({
      path,
      text: signs.requirementFiles.get(path) ?? '',
    })),
    cpuWheels: files.paths
      .filter((path) => CPU_WHEEL.test(path))
      .slice(0, SCAN_LIMITS.signCountMax)
      .map((path) => files.pathOf(path)),
    ignoredChecks: project.ignoredChecks,
  };
}
