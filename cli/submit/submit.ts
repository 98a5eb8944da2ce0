import { createApiClient } from '#cli/client/api-client.ts';
import { type Api, findTarget } from '#cli/client/find-target.ts';
import { streamLogs, tellInterruption } from '#cli/client/follow-job.ts';
import { createObjectClient, type ObjectClient } from '#cli/client/object-client.ts';
import type { ExitCode, Invocation } from '#cli/core/command.ts';
import { refuseOtherProject } from '#cli/core/gcloud-flags.ts';
import { describeCause } from '#cli/render/describe-job.ts';
import { describeProblem, describeReport } from '#cli/render/describe-report.ts';
import { describePlan } from '#cli/render/describe-validation.ts';
import { formatLogEntry } from '#cli/render/format.ts';
import { paint, paintState } from '#cli/render/paint.ts';
import { buildPackages } from '#cli/submit/build-packages.ts';
import { judgeBuiltPackages } from '#cli/submit/check-packages.ts';
import { OFFLINE_CONTEXT } from '#cli/submit/job-file.ts';
import { type JobRequest, type JudgedRequest, judgeRequest } from '#cli/submit/job-request.ts';
import { refuseCombinations } from '#cli/submit/submit-flags.ts';
import { isTaken, readStagingBucket, uploadJobFile, uploadPackages, waitForVerdict } from '#cli/submit/upload-job.ts';
import { printJobFile } from '#shared/job-file/print-job-file.ts';
import { validateJobFile } from '#shared/job-file/validate-job-file.ts';
import type { Report } from '#shared/protocol/report.ts';

/** Judges a job, and packages, uploads and follows it; with --dry-run it is only shown. */
export async function submit(invocation: Invocation, request: JobRequest): Promise<ExitCode> {
  const { io, flag, print } = invocation;
  refuseCombinations(invocation);
  const stagingBucket = readStagingBucket(flag('staging-bucket'));
  const { judged, built } = await judgeWithPackages(request);
  if (invocation.isSet('dry-run')) {
    return showDryRun(invocation, judged);
  }
  for (const note of request.notes) {
    io.stderr.write(`${describeProblem(note)}\n`);
  }
  if (judged.problems.length > 0 || judged.spec === null || request.file.draft === null) {
    const report = refusalOf(judged, flag('config'));
    print({ json: report, text: describeReport(report, io.stdout) });
    return 1;
  }
  const target = await findTarget(invocation);
  refuseOtherProject(invocation, target.projectId);
  for (const note of built.flatMap(({ notes }) => notes)) {
    io.stderr.write(`${note}\n`);
  }
  const client = createObjectClient(target);
  const named = await findFreeName(client, { request, jobId: judged.spec.jobId, bucket: target.uploadBucket });
  const { jobId } = named;
  if (jobId !== judged.spec.jobId) {
    io.stderr.write(`There is a job ${judged.spec.jobId} already: this one is ${jobId}.\n`);
  }
  const bucket = stagingBucket ?? target.stagingBucket;
  const addressOf = await uploadPackages(client, { built, jobId, bucket });
  const text = printJobFile(named.request.applyFlags(request.file.draft, addressOf));
  const source = await uploadJobFile(client, { bucket: target.uploadBucket, jobId, text });
  const work = waitForVerdict(client, source, io.interrupted);
  const report = await tellInterruption(jobId, { signal: io.interrupted, work });
  print({ json: report, text: describeReport(report, io.stdout) });
  if (report.verdict !== 'ACCEPTED') {
    return 1;
  }
  return invocation.isSet('stream-logs') ? follow(invocation, { api: target.api, jobId }) : 0;
}

/** Names of Vertex AI's jobs need not be unique, and ids of jobs must be: the moment makes the difference. */
async function findFreeName(
  client: ObjectClient,
  { request, jobId, bucket }: { readonly request: JobRequest; readonly jobId: string; readonly bucket: string },
) {
  if (request.rename === undefined || !(await isTaken(client, { bucket, jobId }))) {
    return { request, jobId };
  }
  const moment = new Date().toISOString().slice(2, 19).replaceAll(/[-:]/g, '').replace('T', '_');
  const renamed = request.rename(moment);
  return { request: renamed, jobId: judgeRequest(renamed).spec?.jobId ?? jobId };
}

/** What is on this machine is looked into before anything is sent; for a job that is refused anyway, nothing is built. */
async function judgeWithPackages(request: JobRequest) {
  const judged = judgeRequest(request);
  const isRefused = judged.problems.length > 0 || judged.spec === null;
  const built = isRefused ? [] : await buildPackages(request.packages);
  return { judged: await judgeBuiltPackages(judged, built), built };
}

/** In the words of a cloud that was never asked. */
function refusalOf({ jobId, problems, warnings }: JudgedRequest, config: string | undefined): Report {
  return {
    source: config ?? 'The job',
    jobId,
    verdict: 'REFUSED',
    problems: [...problems],
    warnings: [...warnings],
    job: null,
  };
}

/** As in gcloud, 0 only when the job has succeeded. */
async function follow({ io, print }: Invocation, { api, jobId }: { api: Api; jobId: string }): Promise<ExitCode> {
  const signal = io.interrupted;
  const work = streamLogs(createApiClient(api, signal), jobId, {
    signal,
    onEntry: (entry) => print({ json: entry, text: formatLogEntry(entry, io.stdout) }),
  });
  const job = await tellInterruption(jobId, { signal, work });
  const lines = [`Job ${job.jobId} ended: ${paintState(job.state, io.stderr)}.`, ...describeCause(job)];
  io.stderr.write(`${lines.join('\n')}\n`);
  return job.state === 'SUCCEEDED' ? 0 : 1;
}

/** Shows the job that a submission would make, completed and judged: the file, what would run, and what is wrong. */
export function showDryRun({ io, print }: Invocation, judged: JudgedRequest): ExitCode {
  const { jobFile, spec, problems, warnings } = judged;
  const would = jobFile === null ? null : validateJobFile(jobFile, { fileName: 'job.yaml', context: OFFLINE_CONTEXT });
  const plan = would?.plan ?? null;
  print({
    json: { spec, jobFile, plan, problems, warnings },
    text: [
      ...(jobFile === null ? [] : [jobFile.trimEnd()]),
      ...(would === null || plan === null ? [] : ['', ...describePlan({ ...would, plan })]),
      ...problems.map((problem) => `- ${describeProblem(problem)}`),
      ...warnings.map((warning) => `- ${paint('warning:', 'yellow', io.stdout)} ${describeProblem(warning)}`),
    ].join('\n'),
  });
  return spec === null || problems.length > 0 ? 1 : 0;
}
