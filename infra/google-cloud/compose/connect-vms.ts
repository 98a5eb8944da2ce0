import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import type { Settings } from '#functions/settings.ts';
import { authFor } from '#infra/google-cloud/compose/auth-for.ts';
import { createComputeVmProvider } from '#infra/google-cloud/compute/compute-vm-provider.ts';
import { vmPlaceSchema } from '#infra/google-cloud/compute/instance-request.ts';
import type { VmProvider } from '#shared/ports/vm-provider.ts';

type RemovalSettings = Settings<'PROJECT_ID' | 'COMPUTE_ENDPOINT'>;
type VmSettings = RemovalSettings & Settings<'SUBNETWORK' | 'VM_SERVICE_ACCOUNT' | 'RUNTIME_IMAGES'>;

/** VMs of Compute Engine, for the one function that makes them. */
export function connectVms(settings: VmSettings): VmProvider {
  const { PROJECT_ID, SUBNETWORK, VM_SERVICE_ACCOUNT, RUNTIME_IMAGES } = settings;
  const place = { projectId: PROJECT_ID, subnetwork: SUBNETWORK, serviceAccount: VM_SERVICE_ACCOUNT };
  return createComputeVmProvider({
    ...connectClients(settings),
    place: vmPlaceSchema.parse(place),
    images: RUNTIME_IMAGES,
  });
}

/** VMs to be listed and deleted: without a network and images, every one that is asked for is refused. */
export function connectVmRemoval(settings: RemovalSettings): VmProvider {
  const place = { projectId: settings.PROJECT_ID, subnetwork: '', serviceAccount: '', networkTag: '' };
  return createComputeVmProvider({ ...connectClients(settings), place, images: {} });
}

function connectClients({ COMPUTE_ENDPOINT: endpoint }: RemovalSettings) {
  const auth = authFor(endpoint);
  const options = endpoint === undefined ? { auth } : { auth, ...partsOf(new URL(endpoint)) };
  return { instances: new InstancesClient(options), operations: new ZoneOperationsClient(options) };
}

/** The library takes an address in parts. */
function partsOf({ protocol, hostname, port }: URL) {
  const isPlain = protocol === 'http:';
  return { apiEndpoint: hostname, protocol: protocol.replace(':', ''), port: Number(port || (isPlain ? 80 : 443)) };
}
