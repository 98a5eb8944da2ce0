import { createServer } from 'node:http';
import { join } from 'node:path';
import { InstancesClient } from '@google-cloud/compute/build/src/v1/instances_client.js';
import { ZoneOperationsClient } from '@google-cloud/compute/build/src/v1/zone_operations_client.js';
import { getRequestListener } from '@hono/node-server';
import { GoogleAuth, PassThroughClient } from 'google-auth-library';
import { type Quota, withQuotas } from '#infra/embedded/compute-engine/quotas.ts';
import { createComputeEngineServer } from '#infra/embedded/compute-engine/server.ts';
import type { VmProviderConfig } from '#infra/embedded/compute-engine/vms/admission.ts';
import { openFaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import { openDatabase } from '#infra/embedded/data-dir/database.ts';
import { closeServer, listen } from '#infra/embedded/http/server.ts';
import type { ComputeEngine } from '#infra/google-cloud/compute-engine/compute-vm-provider.ts';
import { IDENTITY, openVmCloudUnderTest } from '../contract/vm-cloud-under-test.ts';

type Pass = (request: Request) => Response | Promise<Response>;

export type ComputeUnderTest = Awaited<ReturnType<typeof openComputeUnderTest>>;

/** The embedded Compute Engine server with its own fleet of VMs, and Google's clients connected to it. */
export async function openComputeUnderTest(
  config: Partial<VmProviderConfig> = {},
  intercept: (request: Request, pass: Pass) => ReturnType<Pass> | undefined = () => undefined,
  quotas: readonly Quota[] = [],
) {
  const cloud = await openVmCloudUnderTest(config);
  const database = openDatabase(join(cloud.directory, 'operations.sqlite'));
  const faults: string[] = [];
  const identity = await IDENTITY;
  const app = createComputeEngineServer({
    identity,
    vms: withQuotas(cloud.vms(), quotas),
    database,
    clock: { now: Date.now },
    reportError: (error) => void faults.push(String(error)),
  });
  const server = createServer(getRequestListener((request) => intercept(request, app.fetch) ?? app.fetch(request)));
  const port = await listen(server, 0);
  const clients = createClients(port);
  const engine: ComputeEngine = {
    ...clients,
    rest: {
      url: `http://127.0.0.1:${port}`,
      auth: new GoogleAuth({ authClient: new PassThroughClient() }),
    },
    defaults: {
      projectId: identity.projectId,
      subnetwork: `projects/${identity.projectId}/regions/{region}/subnetworks/dropforge`,
      serviceAccount: identity.serviceAccountEmail,
      networkTag: 'dropforge-vm',
      hasSecureBoot: false,
      hasShellAccess: false,
      diskKmsKey: null,
    },
    images: {
      python: { machineImages: ['python'], image: 'python' },
      'no-such-image': { machineImages: ['no-such-image'] },
    },
  };
  return {
    cloud,
    faults,
    outages: openFaultyZones(database, 'zone_outages'),
    engine,
    ...clients,
    origin: `http://127.0.0.1:${port}`,
    async close() {
      await cloud.destroy();
      await closeServer(server);
      await Promise.all([clients.instances.close(), clients.operations.close()]);
      database.close();
    },
  };
}

/** Google's clients, connected to a local port; no environment variable sets their endpoint. */
export function createClients(port: number) {
  const auth = new GoogleAuth({ authClient: new PassThroughClient() });
  const options = { apiEndpoint: '127.0.0.1', port, protocol: 'http', fallback: true, auth } as const;
  return { instances: new InstancesClient(options), operations: new ZoneOperationsClient(options) };
}
