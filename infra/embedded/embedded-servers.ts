import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { createAdminServer } from '#infra/embedded/admin-server.ts';
import { createCloudLoggingServer } from '#infra/embedded/cloud-logging/server.ts';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import { createComputeEngineServer } from '#infra/embedded/compute-engine/server.ts';
import type { Environment } from '#infra/embedded/compute-engine/vms/environment.ts';
import { removeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { lockDataDir } from '#infra/embedded/data-dir/lock.ts';
import { type PortBook, readPortBook, writePortBook } from '#infra/embedded/data-dir/server-ports.ts';
import {
  checkEmbeddedConfig,
  type EmbeddedConfig,
  type EmbeddedConfigInput,
  readEmbeddedConfig,
} from '#infra/embedded/embedded-config.ts';
import { type EmbeddedPorts, openEmbeddedPorts } from '#infra/embedded/embedded-ports.ts';
import { closeServer, findFreePort, listen } from '#infra/embedded/http/server.ts';
import { createPubsubServer } from '#infra/embedded/pubsub/server.ts';
import { createSecretManagerServer } from '#infra/embedded/secret-manager/server.ts';
import { createLogger, type Logger } from '#shared/observability/logger.ts';

export type EmbeddedServersOptions = {
  /** Where the state is; it survives the process. One cloud at a time. */
  readonly dataDir: string;
  readonly ports?: Partial<PortBook> | undefined;
  readonly configFile?: string | undefined;
  /** In place of a file. */
  readonly config?: EmbeddedConfigInput | undefined;
  /** The environment of this machine: VMs find the network, Python and its packages by it. */
  readonly environment: Environment;
  /** Takes the functions' structured log, a JSON object a line. */
  readonly writeLog: (line: string) => void;
};

export type EmbeddedServers = {
  readonly ports: EmbeddedPorts;
  readonly book: PortBook;
  readonly config: EmbeddedConfig;
  readonly logger: Logger;
};

/**
 * Opens Google's doors on this machine, and what is behind them: buckets, VMs, logs, a queue; the functions are the
 * caller's. What it has opened is closed with the resources, however far it came. Throws where another cloud runs.
 */
export async function startEmbeddedServers(
  options: EmbeddedServersOptions,
  resources: AsyncDisposableStack,
): Promise<EmbeddedServers> {
  const lock = lockDataDir(options.dataDir);
  if (lock === undefined) {
    throw new Error(`Another cloud runs on ${options.dataDir}. Use it or end it, or name another --data-dir.`);
  }
  resources.defer(() => lock.release());
  const config =
    options.config === undefined
      ? await readEmbeddedConfig(options.configFile)
      : checkEmbeddedConfig(options.config, 'the given configuration');
  const book = await openPortBook(options);
  const logger = createLogger(options.writeLog);
  const ports = await openEmbeddedPorts({ ...options, config, book, logger });
  resources.defer(() => removeEndpoints(options.dataDir));
  resources.defer(() => ports.database.close());
  // A start that fails from here on leaves its VMs to the next one; a stop has ended them by then.
  resources.defer(() => ports.vms.close({ isKeepingVms: true }));
  await openServers({ ports, book, logger }, resources);
  return { ports, book, config, logger };
}

/** A port that was given must be had; one that is only remembered may have been taken by somebody else. */
async function openPortBook({ dataDir, ports = {} }: EmbeddedServersOptions): Promise<PortBook> {
  const remembered = await readPortBook(dataDir);
  const choose = async (name: keyof PortBook) => {
    const given = ports[name];
    const found = await findFreePort(given ?? remembered[name]);
    if (given !== undefined && found !== given) {
      throw new Error(`Port ${given} is taken. Choose another for the ${name} door, or leave it out.`);
    }
    return found;
  };
  const book = {
    storage: await choose('storage'),
    cloud: await choose('cloud'),
    api: await choose('api'),
    heartbeat: await choose('heartbeat'),
  };
  await writePortBook(dataDir, book);
  return book;
}

async function openServers(
  { ports, book, logger }: Omit<EmbeddedServers, 'config'>,
  resources: AsyncDisposableStack,
): Promise<void> {
  const cloud = new Hono();
  cloud.route('/', createCloudLoggingServer(ports.logs, ports.projectId));
  cloud.route('/', createPubsubServer(ports.queue));
  cloud.route('/', createSecretManagerServer(ports.secrets, ports.projectId));
  const reportFault = (door: string) => (fault: Error) =>
    logger.log('ERROR', `${door} door failed`, { problem: String(fault) });
  cloud.route('/', createComputeEngineServer({ ...ports, reportFault: reportFault('compute') }));
  cloud.route('/admin', createAdminServer(ports));
  cloud.get('/oauth2/v3/certs', (context) => context.json(ports.identity.jwks));
  const storage = createCloudStorageServer(ports.objects, { reportFault: reportFault('storage') });
  const servers = {
    cloud: createServer(getRequestListener(cloud.fetch)),
    storage: createServer(getRequestListener(storage.fetch)),
  };
  // Node would end an upload after five minutes.
  servers.storage.requestTimeout = 0;
  for (const name of ['cloud', 'storage'] as const) {
    await listen(servers[name], book[name]);
    resources.defer(() => closeServer(servers[name]));
  }
}
