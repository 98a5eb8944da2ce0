import { findTarget } from '#cli/cloud/find-target.ts';
import type { Command } from '#cli/command.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { paintState } from '#cli/output/paint.ts';

export const jobsCancel: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [],
  async run(invocation) {
    const { io, operands, print } = invocation;
    const { api } = await findTarget(invocation);
    const job = await createApiClient(api, io.interrupted).cancelJob(operands[0] ?? '');
    print({ json: job, text: `${job.jobId}  ${paintState(job.state, io.stdout)}` });
    return 0;
  },
};
