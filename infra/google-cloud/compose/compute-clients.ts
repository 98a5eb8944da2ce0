import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import type { Settings } from '#functions/settings.ts';
import { clientOptionsFor, urlOf } from '#infra/google-cloud/compose/client-options.ts';

/** The clients that creating, listing and deleting VMs require. */
export function connectComputeClients({ COMPUTE_ENDPOINT }: Settings<'COMPUTE_ENDPOINT'>) {
  const options = clientOptionsFor(COMPUTE_ENDPOINT);
  const rest = { url: urlOf('compute', COMPUTE_ENDPOINT), auth: options.auth };
  return { instances: new InstancesClient(options), operations: new ZoneOperationsClient(options), rest };
}
