import type { JobSource, TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { PERIMETER_REMEDY } from '#shared/domain/perimeter-denial.ts';
import { PERIMETER_SETTLING_MS_MAX } from '#shared/domain/timeouts.ts';
import { inFileOrder } from '#shared/job-file/parser/findings.ts';
import { jobTextOf } from '#shared/job-file/read-job.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { PerimeterDeniedError } from '#shared/ports/object-store.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import type { Accepted } from '#shared/use-cases/intake/accept-submission.ts';
import { jobsBucketOf } from '#shared/use-cases/intake/checks/account.ts';
import { type Checked, runChecks } from '#shared/use-cases/intake/checks/all-checks.ts';
import type { CheckedJob, CheckPorts, InspectedPackage } from '#shared/use-cases/intake/checks/check.ts';
import { namedImagesOf } from '#shared/use-cases/intake/checks/images.ts';
import type { IntakeSettings } from '#shared/use-cases/intake/checks/intake-settings.ts';
import { resolveNetwork } from '#shared/use-cases/intake/checks/network.ts';
import { packageRefsOf } from '#shared/use-cases/intake/checks/packages.ts';
import { usesZone } from '#shared/use-cases/intake/checks/zones.ts';
import { digestOf } from '#shared/use-cases/intake/new-job.ts';
import type { ParsedJob } from '#shared/use-cases/intake/parsed-job.ts';

/** A job file, from an upload or a message. */
export type Submission = ParsedJob & {
  /** Base of relative package paths: `gs://bucket/folder/`. */
  readonly packageBase: string;
  /** The package that contains the job file; installed if the file names no packages. */
  readonly enclosingPackage: InspectedPackage | null;
  /** The job id if the file sets none. */
  readonly fallbackJobId: string;
  readonly source: Omit<JobSource, 'digest' | 'submittedBy' | 'git' | 'text'>;
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
    }
  | { readonly accepted: Accepted };

/** Validates a submission completely, packages included, and creates nothing. */
export async function checkSubmission(ports: CheckPorts, submission: Submission): Promise<SubmissionCheck> {
  try {
    const checked = await checkAll(ports, submission);
    return 'outcome' in checked ? { ...checked, outcome: retryDenial(checked.outcome, submission) } : checked;
  } catch (error) {
    if (error instanceof PerimeterDeniedError) {
      return { outcome: retryDenial(refusalOf(error), submission), spec: null };
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
  const { intake } = ports;
  const { reading } = submission;
  const { draft } = reading;
  const checked = draft && checkJob(draft, jobContextOf(intake, submission));
  // The check repeats the findings of the reading.
  const { warnings, unsupported } = checked ?? reading;
  const problems = inFileOrder([...(checked ?? reading).problems, ...unsupported]);
  const spec = checked?.spec ?? null;
  if (draft === null || spec === null || checked === null || problems.length > 0) {
    return { outcome: { verdict: 'REFUSED', jobId: draft?.jobId?.value ?? null, problems, warnings }, spec };
  }
  const { job, ...found } = await runChecks(
    {
      draft,
      spec: { ...spec, ...resolveNetwork(spec, intake.rights) },
      zones: checked.zones.filter((zone) => usesZone(intake, zone)),
      images: namedImagesOf(spec, draft),
      enclosingPackage: submission.enclosingPackage,
      packages: [],
      resumes: [],
      warnings,
    },
    ports,
  );
  const outcome = rejectionOf(spec.jobId, found);
  return outcome === null ? { accepted: acceptedFrom(job, submission) } : { outcome, spec: job.spec };
}

/** Null if nothing was found that the submission must wait for or be refused for. */
function rejectionOf(
  jobId: string,
  { problems, warnings, missing, unavailable }: Omit<Checked, 'job'>,
): Rejected | null {
  if (problems.length > 0) {
    return { verdict: 'REFUSED', jobId, problems, warnings };
  }
  const waitsFor = [...missing, ...unavailable];
  const isTransient = missing.length === 0 && { isTransient: true as const };
  return waitsFor.length === 0 ? null : { verdict: 'WAITING', jobId, problems: waitsFor, warnings, ...isTransient };
}

function acceptedFrom(job: CheckedJob, submission: Submission): Accepted {
  const packages = packageRefsOf(job);
  const { spec, zones, resumes, warnings } = job;
  const source = {
    ...submission.source,
    digest: digestOf(submission.job, packages, spec),
    submittedBy: submission.submittedBy ?? null,
    git: submission.job.git ?? null,
    text: jobTextOf(submission.job),
  };
  return { spec, source, zones, packages, resumes, warnings, now: submission.now };
}

/** The defaults of the deployment for a submission. */
export function jobContextOf(intake: IntakeSettings, submission: Submission): JobContext {
  const { reading, packageBase, enclosingPackage, fallbackJobId } = submission;
  return {
    defaults: {
      region: intake.regionDefault,
      runtimeVersion: intake.runtimeVersionDefault,
      jobDirBase: `gs://${jobsBucketOf(intake, reading.draft?.serviceAccount?.value)}`,
      jobId: fallbackJobId,
      ...(enclosingPackage === null ? {} : { packageUris: [enclosingPackage.uri] }),
    },
    packageBase,
    uploadBucket: intake.uploadBucket,
  };
}
