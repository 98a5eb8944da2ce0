import { createApiClient } from '#cli/api-client.ts';
import { findCloud } from '#cli/cloud.ts';
import type { Command } from '#cli/command.ts';
import { describeJob } from '#cli/describe-job.ts';

export const jobsDescribe: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [],
  async run(invocation) {
    const { io, operands, print } = invocation;
    const { api } = await findCloud(invocation);
    const job = await createApiClient(api, io.interrupted).getJob(operands[0] ?? '');
    print({ json: job, text: describeJob(job, { nowMs: Date.now(), output: io.stdout }) });
    return 0;
  },
};
