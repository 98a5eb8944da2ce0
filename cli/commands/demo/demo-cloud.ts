import { createApiClient } from '#cli/client/api-client.ts';
import { targetOf } from '#cli/client/find-target.ts';
import { followJob } from '#cli/client/follow-job.ts';
import type { DemoProgress } from '#cli/commands/demo/demo-progress.ts';
import type { Io } from '#cli/core/command.ts';
import { describeError } from '#cli/core/failure.ts';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';

/** The embedded cloud that a demo has started. */
export type DemoCloud = { readonly progress: DemoProgress; readonly dataDir: string; readonly endpoints: Endpoints };

/** Time that an interrupted demo waits for the cancellation of its jobs and the deletion of their VMs. */
const CLEAN_UP_TIMEOUT_MS = 30_000;

type Interrupted = { readonly io: Io; readonly endpoints: Endpoints; readonly jobIds: readonly string[] };

/** Cancels the jobs, which would otherwise resume at the next start of the cloud. */
export async function cancelInterrupted({ io, endpoints, jobIds }: Interrupted): Promise<void> {
  const named = `${jobIds.length === 1 ? 'job' : 'jobs'} ${jobIds.join(' and ')}`;
  io.stderr.write(`Cancelling ${named} and waiting for all VMs to be deleted.\n`);
  const signal = AbortSignal.timeout(CLEAN_UP_TIMEOUT_MS);
  const api = createApiClient(targetOf(endpoints).api, signal);
  await Promise.all(
    jobIds.map(async (jobId) => {
      try {
        await api.cancelJob(jobId);
        await followJob(api, jobId, { signal });
      } catch (error) {
        // Not rethrown: the command reports the interruption.
        io.stderr.write(`Job ${jobId} may still be running: the cancellation failed (${describeError(error)}).\n`);
      }
    }),
  );
}
