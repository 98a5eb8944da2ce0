import { findCloud } from '#cli/cloud/find-cloud.ts';
import type { Command } from '#cli/command.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { streamLogs } from '#cli/jobs/follow-job.ts';
import { formatLogEntry } from '#cli/jobs/format-log-entry.ts';
import { paintState } from '#cli/output/paint.ts';

export const jobsStreamLogs: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [],
  async run(invocation) {
    const { io, operands, print } = invocation;
    const { api } = await findCloud(invocation);
    const job = await streamLogs(createApiClient(api, io.interrupted), operands[0] ?? '', {
      signal: io.interrupted,
      onEntry: (entry) => print({ json: entry, text: formatLogEntry(entry, io.stdout) }),
    });
    io.stderr.write(`Job ${job.jobId} ended: ${paintState(job.state, io.stderr)}.\n`);
    return 0;
  },
};
