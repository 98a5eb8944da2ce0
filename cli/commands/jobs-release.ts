import { openApi } from '#cli/client/open-api.ts';
import type { Command } from '#cli/core/command.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { paintState } from '#cli/render/paint.ts';

export const jobsRelease: Command = {
  operands: [{ name: 'JOB', summary: 'job id', count: 'one' }],
  flags: GCLOUD_JOB_FLAGS,
  async run(invocation) {
    const { io, operands, print } = invocation;
    const { api } = await openApi(invocation);
    const job = await api.releaseVm(operands[0] ?? '');
    const vm = job.kept === null ? 'The VM' : `VM ${job.kept.vmName}`;
    print({ json: job, text: `${job.jobId}  ${paintState(job.state, io.stdout)}\n${vm} is being deleted.` });
    return 0;
  },
};
