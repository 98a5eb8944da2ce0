import { join, posix } from 'node:path';
import { createAdminClient } from '#cli/client/admin-client.ts';
import { createApiClient } from '#cli/client/api-client.ts';
import { findCloud } from '#cli/client/find-cloud.ts';
import { findTarget } from '#cli/client/find-target.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { copyCommand } from '#cli/core/program-name.ts';
import { MASTER } from '#shared/domain/job.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';

export const tensorboard: Command = {
  operands: [{ name: 'JOB', summary: 'job id', count: 'one' }],
  flags: [],
  notes: 'Prints a command of your own TensorBoard (docs/trackers.md). To run it: eval "$(dropforge tensorboard JOB)"',
  async run(invocation) {
    const { io, operands, deployment, print } = invocation;
    const target = await findTarget(invocation);
    const job = await createApiClient(target.api, io.interrupted).getJob(operands[0] ?? '');
    // TensorBoard reads the objects of Google Cloud, and files of this machine.
    const command = deployment === undefined ? await commandForFiles(job, invocation) : logdir(job.jobDir);
    print({ json: { jobId: job.jobId, command }, text: command });
    return 0;
  },
};

/** Reads the output directory of the master while its VM runs, otherwise a copy of the job directory. */
async function commandForFiles(job: JobView, invocation: Invocation): Promise<string> {
  if (job.tuning !== null || isEnded(job)) {
    return `${copyCommand(job.jobDir)} && ${logdir(posix.join('outputs', posix.basename(job.jobDir)))}`;
  }
  const master = job.replicas.find(({ replica, attempt }) => replica === MASTER && attempt === job.attempt);
  if (master === undefined) {
    throw new Failure(`The VM of job ${job.jobId} has not started yet: the job is ${job.state}. Try again later.`);
  }
  const { admin } = await findCloud(invocation);
  const { directory } = await createAdminClient(admin, invocation.io.interrupted).findVm(master.vmName);
  return logdir(join(directory, 'disk', 'output'));
}

function logdir(folder: string): string {
  return `tensorboard --logdir ${quoteForShell(folder)}`;
}
