import { priceOf } from '#shared/catalog/price.ts';
import type { TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { validateReading } from '#shared/job-file/validate-job-file.ts';
import type { ObjectInfo } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { SubmissionVerdict, ValidateUpload } from '#shared/protocol/submission.ts';
import { checkSubmission, jobContextOf, type Submission } from '#shared/use-cases/intake/check-submission.ts';
import type { CheckPorts } from '#shared/use-cases/intake/checks/check.ts';
import { fileNameOf } from '#shared/use-cases/intake/classify-upload.ts';
import { describeMissingJobFile } from '#shared/use-cases/intake/missing-job-file.ts';
import { type PackageToSubmit, readPackage } from '#shared/use-cases/submission/read-package.ts';
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
  const found = await readPackage(ports.objects, info, given);
  const submission = submissionOf(found, { info, given, now });
  const { problems, warnings } = found.report;
  if (submission === null || problems.length > 0) {
    const missing = submission === null && problems.length === 0 ? [missingJobFile(info)] : [];
    return verdictOf(ports, found, { submission, spec: null, problems: [...problems, ...missing], warnings });
  }
  const checked = await checkSubmission(ports, submission);
  const outcome = 'outcome' in checked ? checked.outcome : { ...NO_PROBLEMS, warnings: checked.accepted.warnings };
  const spec = 'outcome' in checked ? checked.spec : checked.accepted.spec;
  const jobId = spec?.jobId ?? ('outcome' in checked ? checked.outcome.jobId : null);
  const images = spec === null ? [] : viewImages(spec);
  return { ...verdictOf(ports, found, { submission, spec, ...outcome }), verdict: outcome.verdict, jobId, images };
}

const NO_PROBLEMS = { verdict: 'ACCEPTED', problems: [] } as const;

type Facts = { readonly info: ObjectInfo; readonly given: Omit<Given, 'partCount'>; readonly now: TimestampMs };

/** The submission of an uploaded package; null if it has no job file. */
export function submissionOf({ report, parsed }: PackageToSubmit, { info, given, now }: Facts): Submission | null {
  const uri = toGsUri(info);
  return (
    parsed && {
      ...parsed,
      packageBase: uri.slice(0, uri.lastIndexOf('/') + 1),
      enclosingPackage: { uri, info, report },
      fallbackJobId: `job_${given.uploadId}`,
      source: { uri, deliveryId: info.generation, reportUri: '' },
      now,
    }
  );
}

type Findings = {
  readonly submission: Submission | null;
  readonly spec: JobSpec | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
};

function verdictOf(
  ports: CheckPorts,
  { report, jobFile }: PackageToSubmit,
  { submission, spec, problems, warnings }: Findings,
): SubmissionVerdict {
  const { entryCount: files, uncompressedBytes: bytes, pythonModules: modules, format } = report;
  return {
    verdict: 'REFUSED',
    jobId: null,
    jobFile,
    problems,
    warnings,
    images: [],
    plan: submission && planOf(ports, submission, spec),
    package: format === null ? null : { files, bytes, modules },
  };
}

/** The machines and their price, as far as the job file is valid there. */
function planOf(ports: CheckPorts, submission: Submission, spec: JobSpec | null): SubmissionVerdict['plan'] {
  const context = jobContextOf(ports.intake, submission);
  const { plan, price, trials } = validateReading(submission.reading, context);
  if (plan === null || price === null) {
    return null;
  }
  const { groups, provisioningModel } = plan;
  const isSpot = priceOf(groups, provisioningModel).perHourUsd === priceOf(groups, 'SPOT').perHourUsd;
  return {
    machines: viewMachines({ replicaGroups: groups }),
    provisioningModel,
    perHourUsd: isSpot ? price.spotPerHour : price.onDemandPerHour,
    onDemandPerHourUsd: price.onDemandPerHour,
    pricesAsOf: price.asOf,
    region: spec?.region ?? price.region,
    runningSecondsMax: spec === null ? null : spec.limits.maxRunningMs / 1_000,
    trials,
  };
}

function missingJobFile({ name }: ObjectInfo): Problem {
  const { code, message } = describeMissingJobFile(fileNameOf(name));
  return { code, message, remedy: 'Write the job file here, or add a job.yaml to the root of the package.' };
}
