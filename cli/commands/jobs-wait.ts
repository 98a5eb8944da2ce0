import { followJob, reportInterruption } from '#cli/client/follow-job.ts';
import { openApi } from '#cli/client/open-api.ts';
import type { Command } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { GCLOUD_JOB_FLAGS } from '#cli/core/gcloud-flags.ts';
import { readNumber } from '#cli/core/read-number.ts';
import { describeEnd } from '#cli/render/describe-job.ts';
import { paintState } from '#cli/render/paint.ts';

/** One week: the maximum running time of a job. */
const TIMEOUT_SECONDS_MAX = 604_800;

export const jobsWait: Command = {
  operands: [{ name: 'JOB', summary: 'the job id', count: 'one' }],
  example: 'digits --timeout 2h',
  flags: [
    { name: 'timeout', value: 'SECONDS', summary: 'stop waiting after this time; the job keeps running' },
    ...GCLOUD_JOB_FLAGS,
  ],
  notes: 'Exits with 0 if the job SUCCEEDED, and with 1 otherwise, including when --timeout expires.',
  async run(invocation) {
    const { io, operands, print } = invocation;
    const timeoutSeconds = readNumber(invocation, 'timeout', { max: TIMEOUT_SECONDS_MAX, isSeconds: true });
    const [jobId = ''] = operands;
    const timeout = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(timeoutSeconds * 1_000);
    const signal = timeout === undefined ? io.interrupted : AbortSignal.any([io.interrupted, timeout]);
    const { api } = await openApi(invocation, signal);
    const work = followJob(api, jobId, { signal }).catch((error: unknown) => {
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
