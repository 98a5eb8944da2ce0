import { findCloud } from '#cli/cloud/find-cloud.ts';
import type { Command, ExitCode, Invocation } from '#cli/command.ts';
import { UsageFailure } from '#cli/failure.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { describeCause } from '#cli/jobs/describe-job.ts';
import { streamLogs, tellInterruption } from '#cli/jobs/follow-job.ts';
import { formatLogEntry } from '#cli/jobs/format-log-entry.ts';
import { createObjectClient } from '#cli/objects/object-client.ts';
import { paintState } from '#cli/output/paint.ts';
import { describeReport } from '#cli/submission/describe-report.ts';
import { dryRun } from '#cli/submission/dry-run.ts';
import { buildJobResource } from '#cli/submission/job-resource.ts';
import { uploadJobFile, uploadPackages, waitForVerdict } from '#cli/submission/submission.ts';
import { refuseFlag, SUBMIT_FLAGS } from '#cli/submission/submit-flags.ts';
import { JOB_ID_PATTERN } from '#shared/domain/job-spec.ts';

export const jobsSubmitTraining: Command = {
  operands: [{ name: 'JOB', summary: 'the new job id: a letter, then letters, digits, underscores', count: 'one' }],
  flags: SUBMIT_FLAGS,
  rest: 'given to the program as they are',
  notes: 'Flags are those of `gcloud ai-platform jobs submit training` and beat what --config says.',
  async run(invocation) {
    const { io, operands, print } = invocation;
    const jobId = readJobId(operands[0] ?? '');
    if (invocation.isSet('dry-run')) {
      return dryRun(invocation, jobId);
    }
    const endpoints = await findCloud(invocation);
    refuseFlag(invocation, endpoints.projectId);
    const client = createObjectClient(endpoints);
    const packages = await uploadPackages(client, { invocation, jobId, jobsBucket: endpoints.jobsBucket });
    const resource = await buildJobResource(invocation, { jobId, ...packages });
    const source = await uploadJobFile(client, { bucket: endpoints.uploadBucket, jobId, resource });
    const work = waitForVerdict(client, source, io.interrupted);
    const report = await tellInterruption(jobId, { signal: io.interrupted, work });
    print({ json: report, text: describeReport(report, io.stdout) });
    if (report.verdict !== 'ACCEPTED') {
      return 1;
    }
    return invocation.isSet('stream-logs') ? follow(invocation, { api: endpoints.api, jobId }) : 0;
  },
};

function readJobId(jobId: string): string {
  if (!JOB_ID_PATTERN.test(jobId)) {
    throw new UsageFailure(
      `'${jobId}' cannot be a job id: write a letter, then letters, digits and underscores, 128 in all at most.`,
    );
  }
  return jobId;
}

/** As in gcloud, 0 only when the job has succeeded. */
async function follow({ io, print }: Invocation, { api, jobId }: { api: string; jobId: string }): Promise<ExitCode> {
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
