import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget, type Target } from '#cli/client/find-target.ts';
import { reportInterruption } from '#cli/client/follow-job.ts';
import { createObjectClient, type ObjectClient } from '#cli/client/object-client.ts';
import type { ExitCode, Invocation, Io } from '#cli/core/command.ts';
import { Interruption } from '#cli/core/failure.ts';
import { rejectOtherProject } from '#cli/core/gcloud-flags.ts';
import { orInterrupted } from '#cli/core/interruptible.ts';
import { describeProblem, describeReport, describeWarnings } from '#cli/render/describe-report.ts';
import { describeTuningPlan } from '#cli/render/describe-tuning-plan.ts';
import { describePlan, describePriceAndLimit, describeUnchecked } from '#cli/render/describe-validation.ts';
import { paint } from '#cli/render/paint.ts';
import { type BuiltPackage, buildPackages, describeLinks } from '#cli/submit/build-packages.ts';
import { withEngineWarning } from '#cli/submit/check-engine.ts';
import { validateBuiltPackages } from '#cli/submit/check-packages.ts';
import { confirmMisplaced } from '#cli/submit/confirm-misplaced.ts';
import { readGitCommit } from '#cli/submit/git-commit.ts';
import { OFFLINE_CONTEXT } from '#cli/submit/job-file.ts';
import { withJobFilePackages } from '#cli/submit/job-file-packages.ts';
import { type JobRequest, type ValidatedRequest, validateRequest, writeJob } from '#cli/submit/job-request.ts';
import { dryRunUri } from '#cli/submit/package-source.ts';
import { publishJobFile } from '#cli/submit/publish-job.ts';
import { streamJob } from '#cli/submit/stream-job.ts';
import { rejectConflictingFlags } from '#cli/submit/submit-flags.ts';
import {
  isJobIdTaken,
  readStagingBucket,
  uploadJobFile,
  uploadPackages,
  waitForVerdict,
} from '#cli/submit/upload-job.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import { formatCommand } from '#shared/job-file/flags/format-command.ts';
import { validateReading } from '#shared/job-file/validate-job-file.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { formatSentJob } from '#shared/protocol/job-text.ts';
import type { Report } from '#shared/protocol/report.ts';
import { formatBytes } from '#shared/text/format-number.ts';

const JOB_LOOKUP_MS_MAX = 10_000;

/** Smaller uploads take no time that a user would notice. */
const ANNOUNCED_BYTES_MIN = 10 * 2 ** 20;

/** A job that was accepted. */
export type Submitted = {
  readonly target: Target;
  readonly client: ObjectClient;
  readonly jobId: string;
  readonly jobDir: string;
};

/**
 * Validates a job, uploads its packages and submits its job file; --dry-run only prints it. Once the job was accepted,
 * `follow` returns the exit code.
 */
export async function submit(
  invocation: Invocation,
  reading: Promise<JobRequest>,
  follow: (invocation: Invocation, submitted: Submitted) => Promise<ExitCode> = followIfAsked,
): Promise<ExitCode> {
  const { io, print } = invocation;
  // A folder may be packed to read its request, too.
  const request = await beforeSubmission(io, reading.then(withJobFilePackages));
  rejectConflictingFlags(invocation);
  const { validated, built } = await beforeSubmission(io, validateWithPackages(request));
  if (invocation.isSet('dry-run')) {
    return await showDryRun(invocation, validated, request);
  }
  for (const note of [...request.notes.map(describeProblem), ...describeLinks(built)]) {
    io.stderr.write(`${note}\n`);
  }
  const { spec } = validated;
  if (validated.problems.length > 0 || spec === null) {
    const report = toRejectionReport(validated, configOf(invocation, request));
    print({ json: report, text: describeReport(report, io.stdout) });
    return 1;
  }
  const hasTimeLimit = validated.draft?.maxRunningTime !== undefined;
  for (const line of [...describePriceAndLimit(spec), ...describeTuningPlan(spec, { hasTimeLimit })]) {
    io.stderr.write(`${line}\n`);
  }
  await confirmMisplaced(invocation, request.packages);
  const target = await findTarget(invocation);
  rejectOtherProject(invocation, target.projectId);
  const client = createObjectClient(target);
  const { jobId, report } = await send(invocation, { target, client, request, spec, built });
  print({ json: report, text: describeReport(report, io.stdout) });
  const jobDir = report.job?.jobDir ?? `gs://${target.jobsBucket}/${jobId}`;
  return report.verdict === 'ACCEPTED' ? follow(invocation, { target, client, jobId, jobDir }) : 1;
}

/** A job that is followed must succeed, as in gcloud. */
async function followIfAsked(invocation: Invocation, { target, jobId }: Submitted): Promise<ExitCode> {
  const api = createApiClient(target.api, invocation.io.interrupted);
  return invocation.isSet('stream-logs') && (await streamJob(invocation, api, { jobId })).state !== 'SUCCEEDED' ? 1 : 0;
}

type Sending = Pick<Submitted, 'target' | 'client'> & {
  readonly request: JobRequest;
  readonly spec: JobSpec;
  readonly built: readonly BuiltPackage[];
};

/** Uploads the packages and submits the job file under a free id. Returns the id and the verdict. */
async function send(invocation: Invocation, sending: Sending) {
  const { io } = invocation;
  const { target, client } = sending;
  const { jobId, text } = await beforeSubmission(io, stage(invocation, sending));
  const source = await sendJobFile(target, { client, jobId, text });
  const work = waitForVerdict(client, source, {
    signal: io.interrupted,
    onSlow: (notice) => io.stderr.write(`${notice}\n`),
  });
  return { jobId, report: await reportInterruption(jobId, { signal: io.interrupted, work }) };
}

/** Uploads the packages. Returns a free id, and the job file that refers to them. */
async function stage({ io, flag }: Invocation, { target, client, request, spec, built }: Sending) {
  const { jobId, request: named } = await chooseJobId(target, { request, jobId: spec.jobId, client });
  if (jobId !== spec.jobId) {
    io.stderr.write(`Job ${spec.jobId} already exists: this one is submitted as ${jobId}.\n`);
  }
  const bucket = readStagingBucket(flag('staging-bucket')) ?? target.stagingBucket;
  const sizeBytes = built.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (sizeBytes >= ANNOUNCED_BYTES_MIN) {
    io.stderr.write(`Uploading ${formatBytes(sizeBytes)}.\n`);
  }
  const uriOf = await uploadPackages(client, { built, jobId, bucket });
  return { jobId, text: formatSentJob({ ...writeJob(named, uriOf), git: await readGitCommit(request.packages) }) };
}

/** Awaits work that must not lead to a job once the user has pressed Ctrl-C. */
async function beforeSubmission<T>({ interrupted }: Io, work: Promise<T>): Promise<T> {
  try {
    const result = await orInterrupted(interrupted, work);
    interrupted.throwIfAborted();
    return result;
  } catch (error) {
    throw interrupted.aborted ? new Interruption('Interrupted. No job was submitted.') : error;
  }
}

/**
 * Submits the job file: to a deployment with a submit topic as a message, which needs no name in the upload bucket;
 * otherwise as an upload. Returns the name that its report is based on.
 */
function sendJobFile(
  { uploadBucket, topics }: Target,
  { client, jobId, text }: { readonly client: ObjectClient; readonly jobId: string; readonly text: string },
): Promise<ObjectName> {
  return topics?.submit
    ? publishJobFile({ topic: topics.submit, endpoint: topics.endpoint, uploadBucket, text })
    : uploadJobFile(client, { bucket: uploadBucket, jobId, text });
}

/** Whether the API knows the job; a submitter who may not call it learns that from the verdict. */
async function isPublishedJob({ topics, api }: Target, jobId: string): Promise<boolean> {
  if (!topics?.submit) {
    return false;
  }
  const { getJob } = createApiClient(api, AbortSignal.timeout(JOB_LOOKUP_MS_MAX));
  return getJob(jobId).then(
    () => true,
    () => false,
  );
}

/** Vertex AI's display names need not be unique, but job ids must be: appends the time if the id is taken. */
async function chooseJobId(
  target: Target,
  { client, request, jobId }: { readonly client: ObjectClient; readonly request: JobRequest; readonly jobId: string },
) {
  const isTaken = async () =>
    (await isJobIdTaken(client, { bucket: target.uploadBucket, jobId })) || (await isPublishedJob(target, jobId));
  if (request.rename === undefined || !(await isTaken())) {
    return { request, jobId };
  }
  const suffix = new Date().toISOString().slice(2, 19).replaceAll(/[-:]/g, '').replace('T', '_');
  const renamed = request.rename(suffix);
  return { request: renamed, jobId: validateRequest(renamed).spec?.jobId ?? jobId };
}

/** Validates the job and its local packages before any upload. Packages are built only if the job is valid. */
async function validateWithPackages(request: JobRequest) {
  const validated = validateRequest(request);
  const isRejected = validated.problems.length > 0 || validated.spec === null;
  const built = isRejected ? [] : await buildPackages(request.packages);
  return { validated: await validateBuiltPackages(validated, built), built };
}

function configOf({ flag }: Invocation, { file }: JobRequest): string | undefined {
  return flag('config') ?? (file.text === null ? undefined : file.fileName);
}

/** Formats offline problems like the report of a cloud. */
function toRejectionReport({ jobId, problems, warnings }: ValidatedRequest, config: string | undefined): Report {
  return {
    source: config ?? 'The job',
    jobId,
    verdict: 'REFUSED',
    problems: [...problems],
    warnings: [...warnings],
    job: null,
  };
}

/** Prints the job that would be submitted: the job file and its flags, the machines, and the problems. */
async function showDryRun(invocation: Invocation, validated: ValidatedRequest, request: JobRequest): Promise<ExitCode> {
  const { io, print } = invocation;
  const { draft, spec, problems } = validated;
  const { command, jobId, file } = request;
  const jobFile = file.text;
  const flags = request.writeFlags(dryRunUri);
  const preview = validateReading({ ...file.reading, draft }, OFFLINE_CONTEXT);
  const { plan, images } = preview;
  const { warnings } = await withEngineWarning({ images, warnings: validated.warnings }, io);
  const hasTimeLimit = draft?.maxRunningTime !== undefined;
  print({
    json: { spec, jobFile, flags, plan, images, problems, warnings },
    text: [
      ...(jobFile === null ? [] : [jobFile.trimEnd(), '']),
      formatCommand({ command, flags, jobId, config: configOf(invocation, request) }),
      ...(plan === null ? [] : ['', ...describePlan({ ...preview, plan })]),
      ...describeUnchecked(images),
      ...(spec === null ? [] : describeTuningPlan(spec, { hasTimeLimit }).map((line) => `  ${line}`)),
      ...problems.map((problem) => `${paint('error:', 'red', io.stdout)} ${describeProblem(problem)}`),
      ...describeWarnings(warnings, io.stdout),
    ].join('\n'),
  });
  return spec === null || problems.length > 0 ? 1 : 0;
}
