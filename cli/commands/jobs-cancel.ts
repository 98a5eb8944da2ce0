import { openApi } from '#cli/client/open-api.ts';
import type { Command, ExitCode } from '#cli/core/command.ts';
import { describeError } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { paintState } from '#cli/render/paint.ts';

export const jobsCancel: Command = {
  operands: [{ name: 'JOB', summary: 'job ids', count: 'many' }],
  flags: GCLOUD_JOB_FLAGS,
  async run(invocation) {
    const { io, operands, print } = invocation;
    const { api } = await openApi(invocation);
    let exitCode: ExitCode = 0;
    for (const jobId of operands) {
      try {
        const job = await api.cancelJob(jobId);
        print({ json: job, text: `${job.jobId}  ${paintState(job.state, io.stdout)}` });
      } catch (error) {
        // Continue with the other jobs, because they cost money.
        if (operands.length === 1 || io.interrupted.aborted) {
          throw error;
        }
        io.stderr.write(`error: ${jobId}: ${describeError(error)}\n`);
        exitCode = 1;
      }
    }
    return exitCode;
  },
};
