import type { JobSource, TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { PERIMETER_REMEDY } from '#shared/domain/perimeter-denial.ts';
import type { Study } from '#shared/domain/study.ts';
import { PERIMETER_SETTLING_MS_MAX } from '#shared/domain/timeouts.ts';
import { type Dialect, fieldPath, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { inFileOrder, locationOf } from '#shared/job-file/parser/findings.ts';
import { jobTextOf } from '#shared/job-file/read-job.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import type { ImageRegistry } from '#shared/ports/image-registry.ts';
import { type ObjectStore, PerimeterDeniedError } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Accepted, AcceptPorts } from '#shared/use-cases/intake/accept-submission.ts';
import { checkChannels } from '#shared/use-cases/intake/check-channels.ts';
import { checkData } from '#shared/use-cases/intake/check-data.ts';
import {
  checkJobDir,
  checkRuntime,
  checkVmLimits,
  checkZones,
  limitParallelTrials,
} from '#shared/use-cases/intake/check-deployment.ts';
import {
  checkPackages,
  type InspectedPackage,
  lintJobPackages,
  type PackageCheck,
  programsOf,
} from '#shared/use-cases/intake/check-packages.ts';
import { checkResumedTuning, type ResumedStudy } from '#shared/use-cases/intake/check-resumed-tuning.ts';
import { checkRights, jobsBucketOf } from '#shared/use-cases/intake/check-rights.ts';
import { checkShell } from '#shared/use-cases/intake/check-shell.ts';
import { checkVmConfig } from '#shared/use-cases/intake/check-vm-config.ts';
import { type IntakeSettings, usesZone } from '#shared/use-cases/intake/intake-settings.ts';
import { digestOf } from '#shared/use-cases/intake/new-job.ts';
import type { ParsedJob } from '#shared/use-cases/intake/parsed-job.ts';
import { pinImages, type ResolvedImage } from '#shared/use-cases/intake/pin-images.ts';

export type CheckPorts = Pick<AcceptPorts, 'jobs' | 'tunings'> & {
  readonly objects: ObjectStore;
  readonly registry: ImageRegistry;
  readonly intake: IntakeSettings;
};

/** A job file, from an upload or a message. */
export type Submission = ParsedJob & {
  /** Base of relative package paths: `gs://bucket/folder/`. */
  readonly packageBase: string;
  /** The package that contains the job file; installed if the file names no packages. */
  readonly enclosingPackage: InspectedPackage | null;
  /** The job id if the file sets none. */
  readonly fallbackJobId: string;
  readonly source: Omit<JobSource, 'digest' | 'submittedBy' | 'text'>;
  /** E-mail address that a signature has proven. */
  readonly submittedBy?: string | null | undefined;
  /** When its message was published, which can be delivered again; undefined for a request to the API. */
  readonly publishedAt?: TimestampMs | undefined;
  readonly now: TimestampMs;
};

/**
 * WAITING: a package that the job file names, or the job file itself, has not been uploaded yet; or an image could not
 * be checked; or a perimeter denied a request and may have changed.
 */
export type SubmitOutcome =
  | { readonly verdict: 'ACCEPTED'; readonly jobId: string }
  | {
      readonly verdict: 'REFUSED' | 'WAITING';
      readonly jobId: string | null;
      readonly problems: readonly Problem[];
      readonly warnings: readonly Problem[];
      /** Set if the same submission may be accepted in a few minutes: its message is redelivered. */
      readonly isTransient?: true;
    };

type Rejected = Exclude<SubmitOutcome, { verdict: 'ACCEPTED' }>;

/** A submission that passed all checks, with what `submitJob` creates from it; or why it did not. */
export type SubmissionCheck =
  | {
      readonly outcome: Rejected;
      /** The specification, as far as it is valid by itself; null if the job file is not. */
      readonly spec: JobSpec | null;
      /** The images that were found. */
      readonly images: readonly ResolvedImage[];
    }
  | {
      readonly accepted: Accepted;
      readonly resumed: ResumedStudy | null;
      readonly images: readonly ResolvedImage[];
    };

/** Validates a submission completely, packages included, and creates nothing. */
export async function checkSubmission(ports: CheckPorts, submission: Submission): Promise<SubmissionCheck> {
  try {
    const checked = await checkAll(ports, submission);
    return 'outcome' in checked ? { ...checked, outcome: retryDenial(checked.outcome, submission) } : checked;
  } catch (error) {
    if (error instanceof PerimeterDeniedError) {
      return { outcome: retryDenial(refusalOf(error), submission), spec: null, images: [] };
    }
    throw error;
  }
}

function refusalOf({ summary }: PerimeterDeniedError): Rejected {
  const problem = { code: 'PERIMETER_DENIED', message: summary, remedy: PERIMETER_REMEDY };
  return { verdict: 'REFUSED', jobId: null, problems: [problem], warnings: [] };
}

/** A perimeter that has changed can deny what its rules allow, for a while: the message is delivered again. */
function retryDenial(outcome: Rejected, { publishedAt, now }: Submission): Rejected {
  const isSettling = publishedAt !== undefined && now - publishedAt < PERIMETER_SETTLING_MS_MAX;
  const isDenied = outcome.verdict === 'REFUSED' && outcome.problems.every(({ code }) => code === 'PERIMETER_DENIED');
  return isSettling && isDenied ? { ...outcome, verdict: 'WAITING', isTransient: true } : outcome;
}

async function checkAll(ports: CheckPorts, submission: Submission): Promise<SubmissionCheck> {
  const { reading } = submission;
  const { draft } = reading;
  const checked = draft && checkJob(draft, jobContextOf(ports.intake, submission, draft));
  // The check repeats the findings of the reading.
  const { warnings, unsupported } = checked ?? reading;
  const problems = inFileOrder([...(checked ?? reading).problems, ...unsupported]);
  const spec = checked?.spec ?? null;
  if (draft === null || spec === null || checked === null || problems.length > 0) {
    return {
      outcome: { verdict: 'REFUSED', jobId: draft?.jobId?.value ?? null, problems, warnings },
      spec,
      images: [],
    };
  }
  const zones = checked.zones.filter((zone) => usesZone(ports.intake, zone));
  const { packages, pinned, resumed, ...inspected } = await inspect(ports, submission, { draft, spec, zones });
  const found = { ...inspected, warnings: [...warnings, ...inspected.warnings] };
  const { jobId } = spec;
  const { images } = pinned;
  if (found.problems.length > 0) {
    return { outcome: { verdict: 'REFUSED', jobId, ...found }, spec, images };
  }
  const missing = packages.missingUris.map((uri) => missingPackage(uri, draft.dialect));
  if (missing.length + pinned.unavailable.length > 0) {
    const isTransient = missing.length === 0 && { isTransient: true as const };
    const waiting = { problems: [...missing, ...pinned.unavailable], warnings: found.warnings, ...isTransient };
    return { outcome: { verdict: 'WAITING', jobId, ...waiting }, spec, images };
  }
  const pinnedPackages = packages.pin(programsOf(pinned.spec));
  const digest = digestOf(submission.job, pinnedPackages, images);
  const text = jobTextOf(submission.job);
  const source = { ...submission.source, digest, submittedBy: submission.submittedBy ?? null, text };
  const accepted: Accepted = {
    spec: { ...pinned.spec, passesJobDir: passesJobDir(spec, draft, packages) },
    source,
    zones,
    packages: pinnedPackages,
    warnings: found.warnings,
    now: submission.now,
  };
  const tooLong = checkVmConfig(accepted, resumed);
  return tooLong === null
    ? { accepted, resumed, images }
    : { outcome: { verdict: 'REFUSED', jobId, problems: [tooLong], warnings: found.warnings }, spec, images };
}

type Valid = { readonly draft: JobDraft; readonly spec: JobSpec; readonly zones: readonly string[] };

/** Checks what a valid job file names: packages, images, and what the deployment must have for it. */
async function inspect(ports: CheckPorts, submission: Submission, { draft, spec, zones }: Valid) {
  const { dialect } = draft;
  const packages = await checkPackages(ports, programsOf(spec), submission.enclosingPackage);
  const runtime = checkRuntime({ ...spec, dialect }, ports.intake);
  const foundRuntime = ports.intake.runtimeOf(spec.runtimeVersion);
  const rights = checkRights(draft, { spec, runtime: foundRuntime, intake: ports.intake });
  const placed = { ...spec, ...rights.network };
  const shell = checkShell(draft, spec, ports.intake);
  const lint = lintJobPackages(placed, packages, ports.intake);
  const resumed = spec.study && (await checkTuning(ports, { ...spec, study: spec.study }, draft.study));
  const pinned = await pinImages(ports, placed, draft);
  const data = await checkData(ports, spec);
  return {
    packages,
    pinned,
    resumed,
    problems: [
      ...packages.problems,
      ...lint.problems,
      ...pinned.problems,
      ...(await checkJobDir(ports.objects, spec, dialect)),
      ...checkZones(zones, spec, dialect),
      ...checkVmLimits(spec, ports.intake),
      ...checkChannels(draft, ports.intake),
      ...rights.problems,
      ...runtime.problems,
      ...shell.problems,
      ...data.problems,
      ...(resumed?.problems ?? []),
    ],
    warnings: [
      ...runtime.warnings,
      ...shell.warnings,
      ...pinned.warnings,
      ...packages.warnings,
      ...lint.warnings,
      ...data.warnings,
      ...(resumed?.warnings ?? []),
    ],
  };
}

/** The study with its earlier tunings, and with as many parallel trials as this deployment can run. */
async function checkTuning(
  ports: CheckPorts,
  spec: JobSpec & { readonly study: Study },
  draft: StudyDraft | undefined,
): Promise<ResumedStudy> {
  const resumed = await checkResumedTuning(ports, spec.study, draft);
  const { study, warnings } = limitParallelTrials(resumed.study, spec, ports.intake);
  const location = draft?.parallelTrials === undefined ? {} : locationOf(draft.parallelTrials);
  return {
    ...resumed,
    study,
    warnings: [...resumed.warnings, ...warnings.map((warning) => ({ ...warning, ...location }))],
  };
}

/**
 * AI Platform passes `--job-dir` only if the job sets it. Here every job has a job directory, but a program that does not
 * know the argument would reject it. A program that was not scanned completely may know it; what is in an image is not
 * known.
 */
function passesJobDir(spec: JobSpec, { jobDir }: JobDraft, { reportsOf }: PackageCheck): boolean {
  const mayTakeJobDir = ({ evidence }: PackageReport) => evidence.mentionsJobDir || !evidence.isComplete;
  return (
    spec.passesJobDir &&
    (jobDir !== undefined || programsOf(spec).every((program) => reportsOf(program).some(mayTakeJobDir)))
  );
}

/** The defaults of the deployment for a submission. */
export function jobContextOf(
  intake: IntakeSettings,
  submission: Pick<Submission, 'packageBase' | 'enclosingPackage' | 'fallbackJobId'>,
  draft: Pick<JobDraft, 'serviceAccount'> | null = null,
): JobContext {
  const { packageBase, enclosingPackage, fallbackJobId } = submission;
  return {
    defaults: {
      region: intake.regionDefault,
      runtimeVersion: intake.runtimeVersionDefault,
      jobDirBase: `gs://${jobsBucketOf(intake, draft?.serviceAccount?.value)}`,
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
