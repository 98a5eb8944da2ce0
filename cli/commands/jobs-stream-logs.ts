import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { reportInterruption, streamLogs } from '#cli/client/follow-job.ts';
import { UPDATES_NOTE, withJobUpdates } from '#cli/client/job-updates.ts';
import type { Command } from '#cli/core/command.ts';
import { checkJobFlags, GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { describeWarnings } from '#cli/render/describe-report.ts';
import { formatLogEntry } from '#cli/render/format.ts';
import { paintState } from '#cli/render/paint.ts';

export const jobsStreamLogs: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: GCLOUD_JOB_FLAGS,
  notes: UPDATES_NOTE,
  async run(invocation) {
    const { io, operands, print } = invocation;
    const target = await findTarget(invocation);
    checkJobFlags(invocation, target);
    const [jobId = ''] = operands;
    const signal = io.interrupted;
    const work = withJobUpdates(target, {
      ...{ jobId, stderr: io.stderr },
      follow: (updates) =>
        streamLogs(createApiClient(target.api, signal), jobId, {
          ...{ signal, updates },
          onEntry: (entry) => print({ json: entry, text: formatLogEntry(entry, io.stdout) }),
        }),
    });
    const job = await reportInterruption(jobId, { signal, work });
    const title = `Job ${job.jobId} ended: ${paintState(job.state, io.stderr)}.`;
    io.stderr.write(`${[title, ...describeWarnings(job.warnings, io.stderr)].join('\n')}\n`);
    return 0;
  },
};
