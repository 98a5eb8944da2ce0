import { type ApiClient, createApiClient } from '#cli/client/api-client.ts';
import { findTarget, type Target } from '#cli/client/find-target.ts';
import type { Invocation } from '#cli/core/command.ts';
import { checkJobFlags } from '#cli/core/gcloud-flags.ts';

/**
 * The selected cloud and its API, for a command about jobs. Throws UsageFailure for flags of gcloud that do not apply.
 */
export async function openApi(
  invocation: Invocation,
  signal = invocation.io.interrupted,
): Promise<{ readonly target: Target; readonly api: ApiClient }> {
  const target = await findTarget(invocation);
  checkJobFlags(invocation, target);
  return { target, api: createApiClient(target.api, signal) };
}
