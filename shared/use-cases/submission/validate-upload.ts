import type { TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { validateReading } from '#shared/job-file/validate-job-file.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import type { SubmissionVerdict, ValidateUpload } from '#shared/protocol/submission.ts';
import {
  checkSubmission,
  jobContextOf,
  type Submission,
  type SubmissionCheck,
} from '#shared/use-cases/intake/check-submission.ts';
import type { CheckPorts } from '#shared/use-cases/intake/checks/check.ts';
import { fileNameOf } from '#shared/use-cases/intake/classify-upload.ts';
import { describeMissingJobFile } from '#shared/use-cases/intake/missing-job-file.ts';
import { readPackage, submissionOf } from '#shared/use-cases/submission/read-package.ts';
import { assemblePackage } from '#shared/use-cases/submission/staged-upload.ts';
import { viewMachines } from '#shared/views/job-view.ts';
import { viewImages } from '#shared/views/view-images.ts';

type Given = ValidateUpload & { readonly uploadId: string };

/**
 * Validates an uploaded package as intake does, and says what it would start and cost. Creates nothing. Undefined if a
 * part of the upload is missing.
 */
export async function validateUpload(
  ports: CheckPorts,
  given: Given,
  now: TimestampMs,
): Promise<SubmissionVerdict | undefined> {
  const info = await assemblePackage(ports, given);
  if (info === undefined) {
    return undefined;
  }
  const { report, jobFile, parsed } = await readPackage(ports.objects, info, given);
  const { entryCount: files, uncompressedBytes: bytes, pythonModules: modules, format } = report;
  const submission = parsed && submissionOf(parsed, { report, info, uploadId: given.uploadId }, now);
  const { spec, ...verdict } =
    submission === null || report.problems.length > 0
      ? refusalOf(report, info)
      : verdictOf(await checkSubmission(ports, submission));
  return {
    ...verdict,
    jobFile,
    images: spec === null ? [] : viewImages(spec),
    plan: submission && planOf(ports, submission, spec),
    package: format === null ? null : { files, bytes, modules },
  };
}

/** The verdict on a package that cannot be read, or that has no job file. */
function refusalOf({ problems, warnings }: PackageReport, { name }: ObjectInfo) {
  const { code, message } = describeMissingJobFile(fileNameOf(name));
  const missing = { code, message, remedy: 'Write the job file here, or add a job.yaml to the root of the package.' };
  const found = problems.length > 0 ? problems : [missing];
  return { spec: null, verdict: 'REFUSED', jobId: null, problems: found, warnings } as const;
}

function verdictOf(checked: SubmissionCheck) {
  if ('accepted' in checked) {
    const { spec, warnings } = checked.accepted;
    return { spec, verdict: 'ACCEPTED', jobId: spec.jobId, problems: [], warnings } as const;
  }
  const { spec, outcome } = checked;
  const { verdict, problems, warnings } = outcome;
  return { spec, verdict, jobId: spec?.jobId ?? outcome.jobId, problems, warnings };
}

/** The machines and their price, as far as the job file is valid there. */
function planOf(ports: CheckPorts, submission: Submission, spec: JobSpec | null): SubmissionVerdict['plan'] {
  const { plan, price, trials } = validateReading(submission.reading, jobContextOf(ports.intake, submission));
  if (plan === null || price === null) {
    return null;
  }
  return {
    machines: viewMachines({ replicaGroups: plan.groups }),
    provisioningModel: plan.provisioningModel,
    perHourUsd: price.perHour,
    onDemandPerHourUsd: price.onDemandPerHour,
    pricesAsOf: price.asOf,
    region: spec?.region ?? price.region,
    runningSecondsMax: spec === null ? null : spec.limits.maxRunningMs / 1_000,
    trials,
  };
}
