import { findTarget } from '#cli/cloud/find-target.ts';
import type { Command } from '#cli/command.ts';
import { createApiClient } from '#cli/jobs/api-client.ts';
import { describeCause } from '#cli/jobs/describe-job.ts';
import { followJob, tellInterruption } from '#cli/jobs/follow-job.ts';
import { paintState } from '#cli/output/paint.ts';

export const jobsWait: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [],
  notes: 'Ends with 0 when the job has SUCCEEDED and with 1 otherwise.',
  async run(invocation) {
    const { io, operands, print } = invocation;
    const { api } = await findTarget(invocation);
    const [jobId = ''] = operands;
    const signal = io.interrupted;
    const work = followJob(createApiClient(api, signal), jobId, { signal });
    const job = await tellInterruption(jobId, { signal, work });
    print({ json: job, text: [`${job.jobId}  ${paintState(job.state, io.stdout)}`, ...describeCause(job)].join('\n') });
    return job.state === 'SUCCEEDED' ? 0 : 1;
  },
};
