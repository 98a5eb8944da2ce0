import { createApiClient } from '#cli/client/api-client.ts';
import { findTarget } from '#cli/client/find-target.ts';
import { followJob, reportInterruption } from '#cli/client/follow-job.ts';
import type { Command } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { checkJobFlags, GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { describeEnd } from '#cli/render/describe-job.ts';
import { paintState } from '#cli/render/paint.ts';

/** One week: the maximum running time of a job. */
const TIMEOUT_SECONDS_MAX = 604_800;

export const jobsWait: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  flags: [
    { name: 'timeout', value: 'SECONDS', summary: 'stop waiting after this time; the job keeps running' },
    ...GCLOUD_JOB_FLAGS,
  ],
  notes: 'Exits with 0 if the job SUCCEEDED, and with 1 otherwise, including when --timeout expires.',
  async run(invocation) {
    const { io, operands, flag, print } = invocation;
    const timeoutSeconds = readTimeout(flag('timeout'));
    const target = await findTarget(invocation);
    checkJobFlags(invocation, target);
    const [jobId = ''] = operands;
    const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(timeoutSeconds * 1_000);
    const signal = timeout === undefined ? io.interrupted : AbortSignal.any([io.interrupted, timeout]);
    const work = followJob(createApiClient(target.api, signal), jobId, { signal }).catch((error: unknown) => {
      throw timeout?.aborted && !io.interrupted.aborted
        ? new Failure(`Job ${jobId} did not end within ${timeoutSeconds} s. It is still running.`)
        : error;
    });
    const job = await reportInterruption(jobId, { signal: io.interrupted, work });
    const text = describeEnd(`${job.jobId}  ${paintState(job.state, io.stdout)}`, job, io.stdout);
    print({ json: job, text });
    return job.state === 'SUCCEEDED' ? 0 : 1;
  },
};

function readTimeout(text: string | undefined): number | undefined {
  const seconds = Number(text?.replace(/s$/, ''));
  if (text !== undefined && !(Number.isInteger(seconds) && seconds >= 1 && seconds <= TIMEOUT_SECONDS_MAX)) {
    throw new UsageFailure(
      `--timeout must be a whole number of seconds from 1 to ${TIMEOUT_SECONDS_MAX}, not '${text}'.`,
    );
  }
  return text === undefined ? undefined : seconds;
}
