import { printablePath } from '#shared/package/archive/package-problem.ts';
import type { PackageFiles, Project } from '#shared/package/metadata/package-files.ts';
import { type FileEvidence, SCAN_FINDING_COUNT_MAX } from '#shared/package/scan/file-scan.ts';
import type { Tensorflow1Use } from '#shared/package/scan/tensorflow1.ts';

/** Facts about a package whose meaning depends on the job's machines; input of the lint checks. Paths are printable. */
export type PackageEvidence = Pick<FileEvidence, OfFiles> &
  Pick<Project, 'hasComputedRequirements' | 'buildText' | 'ignoredChecks'> & {
    /** Files that Python 3 cannot parse, with the first such line. */
    readonly python2: readonly { readonly path: string; readonly line: number }[];
    readonly tensorflow1: readonly { readonly path: string; readonly use: Tensorflow1Use }[];
    /** Whether pip runs setup.py: a pyproject.toml may specify another build backend. */
    readonly isBuiltBySetupScript: boolean;
    /** Requirements files that are installed, or that a build file reads. */
    readonly requirementFiles: readonly { readonly path: string; readonly text: string }[];
    /** Wheels inside the archive that are CPU-only builds (`+cpu` in the version). */
    readonly cpuWheels: readonly string[];
    /** The Python versions that an environment of conda asks for, `==3.10.*`; null if there are none. */
    readonly pythonLimit: string | null;
  };

type OfFiles = 'isComplete' | 'imports' | 'traits' | 'distribution' | 'mentionsJobDir' | 'credentials';

/** The evidence of a package that could not be read completely. */
export const NO_EVIDENCE: PackageEvidence = {
  isComplete: false,
  imports: new Set(),
  traits: new Set(),
  hasComputedRequirements: true,
  buildText: '',
  distribution: new Set(),
  credentials: [],
  python2: [],
  mentionsJobDir: false,
  tensorflow1: [],
  isBuiltBySetupScript: false,
  requirementFiles: [],
  cpuWheels: [],
  pythonLimit: null,
  ignoredChecks: [],
};

const CPU_WHEEL = /(?:^|\/)[^/]+\+cpu-[^/]+\.whl$/i;

export function gatherEvidence(files: PackageFiles, project: Project): Omit<PackageEvidence, 'pythonLimit'> {
  const { evidence } = files;
  return {
    isComplete: evidence.isComplete,
    imports: evidence.imports,
    traits: evidence.traits,
    hasComputedRequirements: project.hasComputedRequirements,
    buildText: project.buildText,
    distribution: evidence.distribution,
    credentials: evidence.credentials.map(({ path, kind }) => ({ path: printablePath(path), kind })),
    python2: [...evidence.python2Lines].map(([path, line]) => ({ path: printablePath(path), line })),
    mentionsJobDir: evidence.mentionsJobDir,
    tensorflow1: [...evidence.tensorflow1].map(([path, use]) => ({ path: printablePath(path), use })),
    isBuiltBySetupScript: files.has('setup.py') && !files.has('pyproject.toml'),
    requirementFiles: project.requirementFiles.map((path) => ({
      path,
      text: evidence.requirementFiles.get(path) ?? '',
    })),
    cpuWheels: files.paths
      .filter((path) => CPU_WHEEL.test(path))
      .slice(0, SCAN_FINDING_COUNT_MAX)
      .map((path) => files.pathOf(path)),
    ignoredChecks: project.ignoredChecks,
  };
}
