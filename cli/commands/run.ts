import { createApiClient } from '#cli/client/api-client.ts';
import { fetchOutputs } from '#cli/client/fetch-outputs.ts';
import type { Command, ExitCode, Invocation } from '#cli/core/command.ts';
import { Interruption } from '#cli/core/failure.ts';
import { orInterrupted } from '#cli/core/interruptible.ts';
import { copyCommand } from '#cli/core/program-name.ts';
import { readRunRequest } from '#cli/submit/run-request.ts';
import { streamJob } from '#cli/submit/stream-job.ts';
import { type Submitted, submit } from '#cli/submit/submit.ts';
import { SUBMIT_FLAGS } from '#cli/submit/submit-flags.ts';

const SHARED_FLAGS = 'gpu spot max-runtime env module-name region labels set-secrets max-cost dry-run'.split(' ');

export const run: Command = {
  operands: [
    {
      name: 'PATH',
      summary: 'the folder of the program, a .py file, or a job file, whose folder is the package (default: .)',
      count: 'optional',
    },
  ],
  flags: [
    { name: 'name', value: 'NAME', summary: 'name of the job (default: that of the job file, or of the folder)' },
    ...SUBMIT_FLAGS.filter(({ name }) => SHARED_FLAGS.includes(name)),
  ],
  rest: 'passed to the program unchanged',
  notes:
    'Submits the program, follows its log, and copies its outputs to outputs/JOB below the current folder. Flags override\n' +
    'the job file (job.yaml). Ctrl-C ends the command, not the job. Exits with 0 only if the job SUCCEEDED.',
  example: '. --gpu T4 --spot --max-runtime 2h -- --epochs 5',
  run: (invocation) => submit(invocation, readRunRequest(invocation), followAndFetch),
};

/** Prints the log until the job has ended, and copies what it has saved, also if it has failed. */
async function followAndFetch(invocation: Invocation, submitted: Submitted): Promise<ExitCode> {
  const { io } = invocation;
  const { target, client, jobId, jobDir } = submitted;
  const remedy = `\`${copyCommand(jobDir)}\``;
  try {
    const job = await streamJob(invocation, createApiClient(target.api, io.interrupted), { jobId });
    const fetched = orInterrupted(io.interrupted, fetchOutputs(client, { jobId, jobDir, cwd: io.cwd }));
    io.stderr.write(`${await fetched}\n`);
    return job.state === 'SUCCEEDED' ? 0 : 1;
  } catch (error) {
    if (!io.interrupted.aborted) {
      throw error;
    }
    const message = error instanceof Interruption ? error.message : `Interrupted. Job ${jobId} has ended.`;
    throw new Interruption(`${message} To copy its outputs when it has ended, run ${remedy}.`);
  }
}
