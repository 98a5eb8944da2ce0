import { jobUpdateOf, provisionOf } from '#shared/domain/effect.ts';
import { type Job, type JobSource, stateOf, type TimestampMs } from '#shared/domain/job.ts';
import { type Dialect, fieldPath } from '#shared/job-file/draft/job-draft.ts';
import { inFileOrder } from '#shared/job-file/parser/findings.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { type EventPorts, publishOutbox } from '#shared/use-cases/handle-job-event.ts';
import { checkJobDir, checkRuntime, checkVmCount, checkZones } from '#shared/use-cases/intake/check-deployment.ts';
import { checkPackages, type InspectedPackage, lintJobPackages } from '#shared/use-cases/intake/check-packages.ts';
import { type IntakeSettings, usesZone } from '#shared/use-cases/intake/intake-settings.ts';
import { digestOf, enforceSizeLimit, newJob } from '#shared/use-cases/intake/new-job.ts';

export type SubmitPorts = EventPorts & { readonly objects: ObjectStore; readonly intake: IntakeSettings };

/** A job file, from an upload or a message. */
export type Submission = {
  readonly text: Uint8Array;
  /** For messages to the user: `job.yaml`. */
  readonly fileName: string;
  /** Base of relative package paths: `gs://bucket/folder/`. */
  readonly packageBase: string;
  /** The package that contains the job file; installed if the file names no packages. */
  readonly enclosingPackage: InspectedPackage | null;
  /** The job id if the file sets none. */
  readonly fallbackJobId: string;
  readonly source: Omit<JobSource, 'digest'>;
  readonly now: TimestampMs;
};

/** WAITING: a package that the job file names, or the job file itself, has not been uploaded yet. */
export type SubmitOutcome =
  | { readonly verdict: 'ACCEPTED'; readonly jobId: string }
  | {
      readonly verdict: 'REFUSED' | 'WAITING';
      readonly jobId: string | null;
      readonly problems: readonly Problem[];
      readonly warnings: readonly Problem[];
    };

/**
 * Validates a submission and creates its job: specification, packages, then one commit of the job and its outbox
 * entries. A repeated submission finds the existing job; a different one with the same job id is rejected.
 */
export async function submitJob(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome> {
  const reading = readJobFile(submission.text, { fileName: submission.fileName });
  const { draft } = reading;
  const checked = draft && checkJob(draft, jobContextOf(ports.intake, submission));
  // The check repeats the findings of the reading.
  const { warnings, unsupported } = checked ?? reading;
  const problems = inFileOrder([...(checked ?? reading).problems, ...unsupported]);
  const spec = checked?.spec ?? null;
  if (draft === null || spec?.program.kind !== 'PYTHON' || checked === null || problems.length > 0) {
    return { verdict: 'REFUSED', jobId: draft?.jobId?.value ?? null, problems, warnings };
  }
  const { dialect } = draft;
  const { jobId, program } = spec;
  const zones = checked.zones.filter((zone) => usesZone(ports.intake, zone));
  const packages = await checkPackages(ports, program, submission.enclosingPackage);
  const runtime = checkRuntime({ ...spec, dialect }, ports.intake);
  const lint = lintJobPackages(spec, { program, packages: packages.reports }, ports.intake);
  const found = {
    problems: [
      ...packages.problems,
      ...lint.problems,
      ...(await checkJobDir(ports.objects, spec, dialect)),
      ...checkZones(zones, spec, dialect),
      ...checkVmCount(spec, ports.intake),
      ...runtime.problems,
    ],
    warnings: [...warnings, ...runtime.warnings, ...packages.warnings, ...lint.warnings],
  };
  if (found.problems.length > 0) {
    return { verdict: 'REFUSED', jobId, ...found };
  }
  if (packages.missingUris.length > 0) {
    const missing = packages.missingUris.map((uri) => missingPackage(uri, dialect));
    return { verdict: 'WAITING', jobId, problems: missing, warnings: found.warnings };
  }
  const source = { ...submission.source, digest: digestOf(submission.text, packages.packages) };
  const accepted = { source, zones, packages: packages.packages, warnings: found.warnings };
  const passesJobDir = spec.passesJobDir && (draft.jobDir !== undefined || packages.reports.some(mayTakeJobDir));
  const limited = enforceSizeLimit(
    newJob({ ...spec, passesJobDir }, { ...accepted, now: submission.now, timeouts: ports.timeouts }),
  );
  return 'problem' in limited
    ? { verdict: 'REFUSED', jobId, problems: [limited.problem], warnings: found.warnings }
    : createJob(ports, limited.job);
}

/**
 * AI Platform passes `--job-dir` only if the job sets it. Here every job has a job directory, but a program that does not
 * know the argument would reject it. A program that was not scanned completely may know it.
 */
function mayTakeJobDir({ evidence }: PackageReport): boolean {
  return evidence.mentionsJobDir || !evidence.isComplete;
}

function jobContextOf(intake: IntakeSettings, submission: Submission): JobContext {
  const { packageBase, enclosingPackage, fallbackJobId } = submission;
  return {
    defaults: {
      region: intake.regionDefault,
      runtimeVersion: intake.runtimeVersionDefault,
      jobDirBase: `gs://${intake.jobsBucket}`,
      jobId: fallbackJobId,
      ...(enclosingPackage === null ? {} : { packageUris: [enclosingPackage.uri] }),
    },
    packageBase,
    uploadBucket: intake.uploadBucket,
  };
}

function missingPackage(uri: string, dialect: Dialect): Problem {
  return {
    code: 'PACKAGE_MISSING',
    message: `Package ${uri} does not exist.`,
    remedy:
      'Upload it. If it is in the folder of its job file, the job then starts; otherwise upload the job file again.',
    path: fieldPath(dialect, 'packageUris'),
  };
}

async function createJob(ports: SubmitPorts, job: Job): Promise<SubmitOutcome> {
  const { jobId, source } = job;
  if ((await ports.jobs.create(job, [provisionOf(job), jobUpdateOf(job)])) === 'EXISTS') {
    const existing = (await ports.jobs.read(jobId))?.job;
    if (existing !== undefined && !isSameSubmission(existing.source, source)) {
      return { verdict: 'REFUSED', jobId, problems: [jobIdTaken(existing)], warnings: [] };
    }
  }
  await publishOutbox(ports, jobId);
  return { verdict: 'ACCEPTED', jobId };
}

function isSameSubmission(one: JobSource, other: JobSource): boolean {
  return one.digest === other.digest || (one.uri === other.uri && one.deliveryId === other.deliveryId);
}

function jobIdTaken(existing: Job): Problem {
  return {
    code: 'JOB_ID_TAKEN',
    message: `A job ${existing.jobId} already exists (${stateOf(existing)}, from ${existing.source.uri}) and was not changed.`,
    remedy: 'Set another jobId and upload the file again.',
    path: 'jobId',
  };
}
