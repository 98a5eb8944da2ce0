import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import type { Settings } from '#functions/settings.ts';
import { authFor } from '#infra/google-cloud/compose/auth-for.ts';

/** The two clients of Compute Engine that anything here needs. */
export function connectComputeClients({ COMPUTE_ENDPOINT: endpoint }: Settings<'COMPUTE_ENDPOINT'>) {
  const auth = authFor(endpoint);
  const options = endpoint === undefined ? { auth } : { auth, ...partsOf(new URL(endpoint)) };
  return { instances: new InstancesClient(options), operations: new ZoneOperationsClient(options) };
}

/** The library takes an address in parts. */
function partsOf({ protocol, hostname, port }: URL) {
  const isPlain = protocol === 'http:';
  return { apiEndpoint: hostname, protocol: protocol.replace(':', ''), port: Number(port || (isPlain ? 80 : 443)) };
}
