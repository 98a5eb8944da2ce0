import { createAdminClient } from '#cli/client/admin-client.ts';
import { type ApiClient, createApiClient } from '#cli/client/api-client.ts';
import { targetOf } from '#cli/client/find-target.ts';
import { followJob } from '#cli/client/follow-job.ts';
import { createObjectClient, type ObjectClient } from '#cli/client/object-client.ts';
import type { DemoProgress } from '#cli/commands/demo/demo-progress.ts';
import type { Invocation } from '#cli/core/command.ts';
import { describeError } from '#cli/core/failure.ts';
import { describeReport } from '#cli/render/describe-report.ts';
import { waitForVerdict } from '#cli/submit/upload-job.ts';
import type { Endpoints } from '#infra/embedded/data-dir/endpoints.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { toGsUri } from '#shared/protocol/gs-uri.ts';

/** A demo, with the embedded cloud that it has started. */
export type Demo = {
  readonly invocation: Invocation;
  readonly progress: DemoProgress;
  readonly dataDir: string;
  readonly endpoints: Endpoints;
  readonly objects: ObjectClient;
  readonly api: ApiClient;
  readonly signal: AbortSignal;
};

export function openDemo(started: Pick<Demo, 'invocation' | 'progress' | 'dataDir' | 'endpoints'>): Demo {
  const target = targetOf({ ...started.endpoints, dataDir: started.dataDir });
  const signal = started.invocation.io.interrupted;
  return { ...started, objects: createObjectClient(target), api: createApiClient(target.api, signal), signal };
}

/** Waits for the verdict on an uploaded example, and prints it if it is not accepted. */
export async function isAccepted(
  { invocation, progress, objects, signal }: Demo,
  source: ObjectName,
): Promise<boolean> {
  progress.print({ event: 'dropped', uri: toGsUri(source) }, `uploaded examples/digits to ${toGsUri(source)}`);
  const report = await waitForVerdict(objects, source, { signal });
  if (report.verdict !== 'ACCEPTED') {
    invocation.print({ json: report, text: describeReport(report, invocation.io.stdout) });
  }
  return report.verdict === 'ACCEPTED';
}

/** The VMs that run now; none after the end of a demo. */
export async function readVms({ endpoints, signal }: Demo) {
  return (await createAdminClient(endpoints.admin, signal).readStatus()).vms;
}

/** Time that an interrupted demo waits for the cancellation of its jobs and the deletion of their VMs. */
const CLEAN_UP_TIMEOUT_MS = 30_000;

/** Cancels the jobs, which would otherwise resume at the next start of the cloud. */
export async function cancelInterrupted(
  { invocation, dataDir, endpoints }: Demo,
  jobIds: readonly string[],
): Promise<void> {
  const { io } = invocation;
  const named = `${jobIds.length === 1 ? 'job' : 'jobs'} ${jobIds.join(' and ')}`;
  io.stderr.write(`Cancelling ${named} and waiting for all VMs to be deleted.\n`);
  const signal = AbortSignal.timeout(CLEAN_UP_TIMEOUT_MS);
  const api = createApiClient(targetOf({ ...endpoints, dataDir }).api, signal);
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
