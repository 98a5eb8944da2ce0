import type { BuiltPackage } from '#cli/submit/build-packages.ts';
import type { JudgedRequest } from '#cli/submit/job-request.ts';
import { inspectBuiltPackage, judgePackages, type NamedReport } from '#cli/submit/local-package.ts';
import { NO_EVIDENCE } from '#shared/package/package-evidence.ts';

/**
 * Judges a job together with the packages that are to be uploaded for it, as intake will: what intake refuses, a key in
 * a package above all, is better not sent. What only the cloud has is left to intake.
 */
export async function judgeBuiltPackages(
  judged: JudgedRequest,
  built: readonly BuiltPackage[],
): Promise<JudgedRequest> {
  const { spec } = judged;
  if (spec?.program.kind !== 'PYTHON' || built.length === 0) {
    return judged;
  }
  const packages: NamedReport[] = [];
  for (const one of built) {
    packages.push({ name: one.fileName, report: await inspectBuiltPackage(one) });
  }
  const { module, packageUris } = spec.program;
  if (packageUris.length > built.length) {
    packages.push(UNSEEN);
  }
  const found = judgePackages(packages, { module, plan: { groups: spec.replicaGroups } }, NONE_SILENCED);
  return {
    ...judged,
    problems: [...judged.problems, ...found.problems],
    warnings: [...found.warnings, ...judged.warnings],
  };
}

/** A job file has no place for what is to be passed over: pyproject.toml has, where intake reads it, too. */
const NONE_SILENCED: ReadonlySet<string> = new Set();

/** Stands for packages that lie in buckets: the module may be in one of them, and they are not the whole program. */
const UNSEEN: NamedReport = {
  name: '',
  report: {
    ...{ name: null, version: null, requiresPython: null, requirements: [] },
    ...{ format: null, problems: [], warnings: [], entryCount: 0, uncompressedBytes: 0, wheelTags: [] },
    pythonModules: [],
    judgeModule: () => ({ problems: [], warnings: [] }),
    jobFiles: [],
    evidence: NO_EVIDENCE,
  },
};
