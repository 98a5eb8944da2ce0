import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import type { SubmissionVerdict } from '#shared/protocol/submission.ts';
import type { InspectedPackage } from '#shared/use-cases/intake/check-packages.ts';
import { isJobFile } from '#shared/use-cases/intake/classify-upload.ts';

/** A package with the job file that its job is started from: the given one, or that in its root. */
export type PackageToSubmit = {
  readonly report: PackageReport;
  readonly inspected: InspectedPackage;
  readonly jobFile: SubmissionVerdict['jobFile'];
};

export async function readPackage(
  objects: ObjectStore,
  info: ObjectInfo,
  givenJobFile: string | undefined,
): Promise<PackageToSubmit> {
  const report = await inspectPackage(packageSourceOf(objects, info));
  const enclosed = report.jobFiles.find(({ path, text }) => isJobFile(Buffer.from(text), path));
  const found = enclosed === undefined ? null : { fileName: enclosed.path, text: enclosed.text };
  return {
    report,
    inspected: { uri: toGsUri(info), generation: info.generation, report },
    jobFile: givenJobFile === undefined ? found : { fileName: found?.fileName ?? 'job.yaml', text: givenJobFile },
  };
}
