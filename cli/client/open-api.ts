import { type ApiClient, createApiClient } from '#cli/client/api-client.ts';
import { findTarget, type Target } from '#cli/client/find-target.ts';
import type { Invocation } from '#cli/core/command.ts';
import { describeError, NotFound } from '#cli/core/failure.ts';
import { checkJobFlags } from '#cli/core/gcloud-flags.ts';
import { nearestName } from '#shared/text/nearest-name.ts';

/**
 * The selected cloud and its API, for a command about jobs. Throws UsageFailure for flags of gcloud that do not apply.
 */
export async function openApi(
  invocation: Invocation,
  signal = invocation.io.interrupted,
): Promise<{ readonly target: Target; readonly api: ApiClient }> {
  const target = await findTarget(invocation);
  checkJobFlags(invocation, target);
  return { target, api: withNearestIds(createApiClient(target.api, signal)) };
}

const SEARCHED_COUNT = 100;

/** Adds the most similar id among the newest jobs to the error that a job does not exist. */
function withNearestIds(api: ApiClient): ApiClient {
  const nameNearest = (given: string) => async (error: unknown) => {
    const jobs = error instanceof NotFound ? await api.listJobs(SEARCHED_COUNT).catch(() => []) : [];
    const nearest = nearestName(
      given.split('/').findLast(Boolean) ?? '',
      jobs.map(({ jobId }) => jobId),
    );
    throw nearest === undefined ? error : new NotFound(`${describeError(error)} Did you mean ${nearest}?`);
  };
  return {
    ...api,
    getJob: (jobId) => api.getJob(jobId).catch(nameNearest(jobId)),
    cancelJob: (jobId) => api.cancelJob(jobId).catch(nameNearest(jobId)),
  };
}
