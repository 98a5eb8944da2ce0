import { createHash } from 'node:crypto';
import { jobUpdateOf, provisionOf } from '#shared/domain/effect.ts';
import type { Effect } from '#shared/domain/event.ts';
import { type Job, type JobSource, type PackageRef, stateOf, type TimestampMs } from '#shared/domain/job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { fieldPath } from '#shared/job-file/draft/field-paths.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import { inFileOrder } from '#shared/job-file/parser/findings.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob } from '#shared/job-file/validation/check-job.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import type { ObjectStore } from '#shared/ports/object-store.ts';
import { parseGsUri } from '#shared/protocol/gs-uri.ts';
import type { Problem } from '#shared/protocol/report.ts';
import type { EventPorts } from '#shared/use-cases/handle-job-event.ts';
import { checkPackages, type KnownPackage } from '#shared/use-cases/intake/check-packages.ts';
import { checkRuntime } from '#shared/use-cases/intake/check-runtime.ts';
import { enforceSizeLimit } from '#shared/use-cases/intake/enforce-size-limit.ts';
import { type IntakeSettings, usesZone } from '#shared/use-cases/intake/intake-settings.ts';
import { lintJobPackages } from '#shared/use-cases/intake/lint-job-packages.ts';
import { publishOutbox } from '#shared/use-cases/publish-outbox.ts';

export type SubmitPorts = EventPorts & { readonly objects: ObjectStore; readonly intake: IntakeSettings };

/** A job file, however it came. */
export type Submission = {
  readonly text: Uint8Array;
  /** For messages to the user: `job.yaml`. */
  readonly fileName: string;
  /** Where paths of packages start: `gs://bucket/folder/`. */
  readonly packageBase: string;
  /** The package that the job file lay in; what is installed when the file names none. */
  readonly enclosingPackage: KnownPackage | null;
  /** The job's id when the file gives none. */
  readonly fallbackJobId: string;
  readonly source: Omit<JobSource, 'digest'>;
  readonly now: TimestampMs;
};

/** What became of a submission. WAITING is for packages that are named and not there yet. */
export type SubmitOutcome =
  | { readonly verdict: 'ACCEPTED'; readonly jobId: string }
  | {
      readonly verdict: 'REFUSED' | 'WAITING';
      readonly jobId: string | null;
      readonly problems: readonly Problem[];
      readonly warnings: readonly Problem[];
    };

/**
 * Judges a submission and makes it a job: the spec, the packages, and then one write that holds the job and what is
 * owed for it. The same submission a second time finds its own job; another one under the same id is refused.
 */
export async function submitJob(ports: SubmitPorts, submission: Submission): Promise<SubmitOutcome> {
  const reading = readJobFile(submission.text, { fileName: submission.fileName });
  const { draft } = reading;
  const checked = draft && checkJob(draft, checkContextOf(ports.intake, submission));
  // A check repeats what reading the draft has found.
  const { warnings, unsupported } = checked ?? reading;
  const problems = inFileOrder([...(checked ?? reading).problems, ...unsupported]);
  const spec = checked?.spec ?? null;
  if (draft === null || spec?.program.kind !== 'PYTHON' || checked === null || problems.length > 0) {
    return { verdict: 'REFUSED', jobId: draft?.jobId?.value ?? null, problems, warnings };
  }
  const { jobId, program } = spec;
  const zones = checked.zones.filter((zone) => usesZone(ports.intake, zone));
  const packages = await checkPackages(ports, program, submission.enclosingPackage);
  const runtime = checkRuntime({ ...spec, dialect: draft.dialect }, ports.intake);
  const advice = lintJobPackages(spec, { program, packages: packages.reports }, ports.intake);
  const found = {
    problems: [
      ...packages.problems,
      ...advice.problems,
      ...(await checkJobDir(ports.objects, spec, draft.dialect)),
      ...checkZones(zones, spec, draft.dialect),
      ...checkRoom(spec, ports.intake),
      ...runtime.problems,
    ],
    warnings: [...warnings, ...runtime.warnings, ...packages.warnings, ...advice.warnings],
  };
  if (found.problems.length > 0) {
    return { verdict: 'REFUSED', jobId, ...found };
  }
  if (packages.missingUris.length > 0) {
    return {
      verdict: 'WAITING',
      jobId,
      problems: packages.missingUris.map((uri) => missingPackage(uri, draft.dialect)),
      warnings: found.warnings,
    };
  }
  const source = { ...submission.source, digest: digestOf(submission.text, packages.packages) };
  const fitted = enforceSizeLimit(
    newJob(spec, {
      ...submission,
      source,
      zones,
      packages: packages.packages,
      warnings: found.warnings,
      timeouts: ports.timeouts,
    }),
  );
  return 'problem' in fitted
    ? { verdict: 'REFUSED', jobId, problems: [fitted.problem], warnings: found.warnings }
    : createJob(ports, fitted.job);
}

function checkContextOf(intake: IntakeSettings, submission: Submission): JobContext {
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

async function checkJobDir(objects: ObjectStore, { jobDir }: JobSpec, dialect: Dialect): Promise<readonly Problem[]> {
  const { bucket } = parseGsUri(jobDir);
  if (await objects.hasBucket(bucket)) {
    return [];
  }
  const message = `The job directory ${jobDir} is in bucket ${bucket}, which does not exist or cannot be seen.`;
  const remedy = `Create the bucket, and on Google Cloud grant on it roles/storage.legacyBucketReader to the accounts on-upload and on-submit, and roles/storage.objectUser to vm (terraform output service_accounts); or leave the field out: the job then has a directory of its own.`;
  return [{ code: 'JOB_DIR_BUCKET_MISSING', message, remedy, path: fieldPath(dialect, 'jobDir') }];
}

function checkZones(zones: readonly string[], { region }: JobSpec, dialect: Dialect): readonly Problem[] {
  const message = `This deployment uses no zone of ${region} that has the machines of the job.`;
  const remedy = 'Choose another region, or have the zones of the deployment extended.';
  return zones.length > 0 ? [] : [{ code: 'NO_ZONE', message, remedy, path: fieldPath(dialect, 'region') }];
}

/** A job whose VMs can never run together would wait for ever. */
function checkRoom({ replicaGroups }: JobSpec, { room }: IntakeSettings): readonly Problem[] {
  const vms = replicaGroups.reduce((sum, { count }) => sum + count, 0);
  if (room === undefined || vms <= room.vmsMax) {
    return [];
  }
  const message = `The job has ${vms} replicas, which run together, and ${room.reason}.`;
  const remedy =
    'Ask for fewer replicas, or raise vmsMax in the configuration of dropforge up (docs/embedded-cloud.md).';
  return [{ code: 'TOO_MANY_REPLICAS', message, remedy }];
}

function missingPackage(uri: string, dialect: Dialect): Problem {
  return {
    code: 'PACKAGE_MISSING',
    message: `Package ${uri} is not there.`,
    remedy: 'Upload it: beside its job file the job starts by itself then. Otherwise upload the job file once more.',
    path: fieldPath(dialect, 'packageUris'),
  };
}

function digestOf(text: Uint8Array, packages: readonly PackageRef[]): string {
  const hash = createHash('sha256').update(text);
  for (const { uri, crc32c, sizeBytes } of packages) {
    hash.update(`\n${uri} ${crc32c} ${sizeBytes}`);
  }
  return hash.digest('hex');
}

type NewJob = {
  readonly source: JobSource;
  readonly zones: readonly string[];
  readonly packages: readonly PackageRef[];
  readonly warnings: readonly Problem[];
  readonly now: TimestampMs;
  readonly timeouts: Timeouts;
};

function newJob(spec: JobSpec, { source, zones, packages, warnings, now, timeouts }: NewJob): Job {
  return {
    status: 'QUEUED',
    isBackingOff: false,
    wakeAt: now + timeouts.provisionAnswerMs,
    jobId: spec.jobId,
    spec,
    packages,
    source,
    warnings,
    createdAt: now,
    attempt: 1,
    placementRound: 1,
    exhaustedZones: [],
    zones,
    firstRanAt: null,
    ranMs: 0,
    counts: {
      interruptions: 0,
      interruptionsInRow: 0,
      bootFailuresInRow: 0,
      restarts: 0,
      createFailures: 0,
      deliveryFailuresInRow: 0,
    },
    ledger: [],
    waitingFor: null,
  };
}

async function createJob(ports: SubmitPorts, job: Job): Promise<SubmitOutcome> {
  const { jobId, source } = job;
  const effects: readonly Effect[] = [provisionOf(job), jobUpdateOf(job)];
  if ((await ports.jobs.create(job, effects)) === 'EXISTS') {
    const existing = (await ports.jobs.read(jobId))?.job;
    if (existing !== undefined && !isSameSubmission(existing.source, source)) {
      return refuseTaken(existing);
    }
  }
  await publishOutbox(ports, jobId);
  return { verdict: 'ACCEPTED', jobId };
}

function isSameSubmission(one: JobSource, other: JobSource): boolean {
  return one.digest === other.digest || (one.uri === other.uri && one.deliveryId === other.deliveryId);
}

function refuseTaken(existing: Job): SubmitOutcome {
  const { jobId } = existing;
  const problem: Problem = {
    code: 'JOB_ID_TAKEN',
    message: `There is another job ${jobId} already (${stateOf(existing)}, from ${existing.source.uri}); it was left as it is.`,
    remedy: 'Give this job another jobId and upload it again.',
    path: 'jobId',
  };
  return { verdict: 'REFUSED', jobId, problems: [problem], warnings: [] };
}
