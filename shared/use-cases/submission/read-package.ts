import type { TimestampMs } from '#shared/domain/job.ts';
import { packageSourceOf } from '#shared/package/archive/package-source.ts';
import { inspectPackage, type PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectInfo, ObjectStore } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import { readSentJob } from '#shared/protocol/job-text.ts';
import type { SubmissionVerdict, ValidateUpload } from '#shared/protocol/submission.ts';
import type { Submission } from '#shared/use-cases/intake/check-submission.ts';
import { findEnclosedJobFile } from '#shared/use-cases/intake/classify-upload.ts';
import { type ParsedJob, parseJob } from '#shared/use-cases/intake/parsed-job.ts';
import { jobIdOfUpload } from '#shared/use-cases/intake/upload-names.ts';

/** A package with the job file that its job is started from: the given one, or that in its root. */
export type PackageToSubmit = {
  readonly report: PackageReport;
  readonly jobFile: SubmissionVerdict['jobFile'];
  /** Null if there is no job file. */
  readonly parsed: ParsedJob | null;
};

export async function readPackage(
  objects: ObjectStore,
  info: ObjectInfo,
  given: Pick<ValidateUpload, 'jobFile' | 'jobId'>,
): Promise<PackageToSubmit> {
  const report = await inspectPackage(packageSourceOf(objects, info));
  const { fileName = 'job.yaml', text, parsed = null } = findEnclosedJobFile(report, given.jobId) ?? {};
  if (given.jobFile !== undefined) {
    const written = parseJob({ ...readSentJob(Buffer.from(given.jobFile), fileName), jobId: given.jobId });
    return { report, jobFile: { fileName, text: given.jobFile }, parsed: written };
  }
  return { report, jobFile: text === undefined ? null : { fileName, text }, parsed };
}

type Upload = { readonly report: PackageReport; readonly info: ObjectInfo; readonly uploadId: string };

/** The submission of an uploaded package with its job file. */
export function submissionOf(parsed: ParsedJob, { report, info, uploadId }: Upload, now: TimestampMs): Submission {
  const uri = toGsUri(info);
  return {
    ...parsed,
    packageBase: uri.slice(0, uri.lastIndexOf('/') + 1),
    enclosingPackage: { uri, info, report },
    fallbackJobId: jobIdOfUpload(info.name, uploadId.slice(0, 8)),
    source: { uri, deliveryId: info.generation, reportUri: '' },
    now,
  };
}
