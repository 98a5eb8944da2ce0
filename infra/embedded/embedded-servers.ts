import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { createAdminServer } from '#infra/embedded/admin-server.ts';
import type { Cleanup } from '#infra/embedded/cleanup.ts';
import { createCloudLoggingServer } from '#infra/embedded/cloud-logging/server.ts';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import { createComputeEngineServer } from '#infra/embedded/compute-engine/server.ts';
import { removeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { lockDataDir } from '#infra/embedded/data-dir/lock.ts';
import { readServerPorts, type ServerPorts, writeServerPorts } from '#infra/embedded/data-dir/server-ports.ts';
import {
  type EmbeddedConfig,
  type EmbeddedConfigInput,
  parseEmbeddedConfig,
  readEmbeddedConfig,
} from '#infra/embedded/embedded-config.ts';
import { type EmbeddedPorts, openEmbeddedPorts } from '#infra/embedded/embedded-ports.ts';
import { closeServer, findFreePort, listen } from '#infra/embedded/http/server.ts';
import { createPubsubServer } from '#infra/embedded/pubsub/server.ts';
import { createSecretManagerServer } from '#infra/embedded/secret-manager/server.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { createLogger, type Logger } from '#shared/observability/logger.ts';
import { maskCredentials } from '#shared/package/scan/credential-patterns.ts';

export type EmbeddedServersOptions = {
  /** Directory of the persistent state. Only one cloud at a time may use it. */
  readonly dataDir: string;
  readonly ports?: Partial<ServerPorts> | undefined;
  readonly configFile?: string | undefined;
  /** Used instead of a file. */
  readonly config?: EmbeddedConfigInput | undefined;
  /** The environment of this machine, from which VMs get their settings for network, Python and packages. */
  readonly environment: Environment;
  /** Receives the functions' structured log, one JSON object per line. */
  readonly writeLog: (line: string) => void;
};

export type EmbeddedServers = {
  readonly ports: EmbeddedPorts;
  readonly serverPorts: ServerPorts;
  readonly config: EmbeddedConfig;
  readonly logger: Logger;
};

/**
 * Starts the emulators of Google's services on this machine, with their buckets, VMs, logs and queue; the caller starts
 * the functions. Everything opened is closed with `cleanup`, also after a partial start. Throws if another cloud is
 * running on the data directory.
 */
export async function startEmbeddedServers(
  options: EmbeddedServersOptions,
  cleanup: Cleanup,
): Promise<EmbeddedServers> {
  const lock = lockDataDir(options.dataDir);
  if (lock === undefined) {
    throw new Error(
      `Another embedded cloud is running on ${options.dataDir}. Use it, stop it, or choose another --data-dir.`,
    );
  }
  cleanup.defer(() => lock.release());
  const config =
    options.config === undefined
      ? await readEmbeddedConfig(options.configFile)
      : parseEmbeddedConfig(options.config, 'the given configuration');
  const serverPorts = await chooseServerPorts(options);
  const logger = createLogger(options.writeLog, { mask: maskCredentials, projectId: config.projectId });
  const ports = await openEmbeddedPorts({ ...options, config, serverPorts, logger });
  cleanup.defer(() => removeEndpoints(options.dataDir));
  cleanup.defer(() => ports.database.close());
  // If the start fails from here on, its VMs are kept for the next start; a stop has already terminated them.
  cleanup.defer(() => ports.vms.close({ isKeepingVms: true }));
  await openServers({ ports, serverPorts, logger }, cleanup);
  return { ports, serverPorts, config, logger };
}

/** A port given by the caller must be free; a port of the last run is replaced if another process uses it. */
async function chooseServerPorts({ dataDir, ports = {} }: EmbeddedServersOptions): Promise<ServerPorts> {
  const previous = await readServerPorts(dataDir);
  const choose = async (name: keyof ServerPorts) => {
    const given = ports[name];
    const found = await findFreePort(given ?? previous[name]);
    if (given !== undefined && found !== given) {
      throw new Error(`Port ${given} is in use. Choose another port for the ${name} server, or omit it.`);
    }
    return found;
  };
  const serverPorts = {
    storage: await choose('storage'),
    cloud: await choose('cloud'),
    api: await choose('api'),
    heartbeat: await choose('heartbeat'),
  };
  await writeServerPorts(dataDir, serverPorts);
  return serverPorts;
}

async function openServers(
  { ports, serverPorts, logger }: Omit<EmbeddedServers, 'config'>,
  cleanup: Cleanup,
): Promise<void> {
  const cloud = new Hono();
  cloud.route('/', createCloudLoggingServer(ports.logs, ports.projectId));
  cloud.route('/', createPubsubServer(ports.queue));
  cloud.route('/', createSecretManagerServer(ports.secrets, ports.projectId));
  const reportError = (service: string) => (error: Error) =>
    logger.log('ERROR', `${service} server failed`, { problem: String(error) });
  cloud.route('/', createComputeEngineServer({ ...ports, reportError: reportError('compute') }));
  cloud.route('/admin', createAdminServer({ ...ports, logger }));
  cloud.get('/oauth2/v3/certs', (context) => context.json(ports.identity.jwks));
  const storage = createCloudStorageServer(ports.objects, { reportError: reportError('storage') });
  const servers = {
    cloud: createServer(getRequestListener(cloud.fetch)),
    storage: createServer(getRequestListener(storage.fetch)),
  };
  // Node's default would abort an upload after five minutes.
  servers.storage.requestTimeout = 0;
  for (const name of ['cloud', 'storage'] as const) {
    await listen(servers[name], serverPorts[name]);
    cleanup.defer(() => closeServer(servers[name]));
  }
}
