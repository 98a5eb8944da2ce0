import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { type EventFunctionName, SUBSCRIPTIONS } from '#functions/index.ts';
import { announceInterruption, connectEmbedded, type EmbeddedPorts } from '#infra/embedded/connect-embedded.ts';
import { lockDataDir } from '#infra/embedded/data-dir-lock.ts';
import { createAdminDoor } from '#infra/embedded/doors/admin-door.ts';
import { createLoggingDoor } from '#infra/embedded/doors/logging-door.ts';
import { createPubsubDoor } from '#infra/embedded/doors/pubsub-door.ts';
import { createStorageDoor } from '#infra/embedded/doors/storage-door.ts';
import {
  checkEmbeddedConfig,
  type EmbeddedConfig,
  type EmbeddedConfigInput,
  readEmbeddedConfig,
} from '#infra/embedded/embedded-config.ts';
import { type Endpoints, removeEndpoints, writeEndpoints } from '#infra/embedded/endpoints.ts';
import { type FunctionServers, startFunctionServers } from '#infra/embedded/function-servers.ts';
import { closeServer, findFreePort, HOST, listen } from '#infra/embedded/http-server.ts';
import { createPushDispatcher, type Subscription } from '#infra/embedded/messages/push-dispatcher.ts';
import { toPubsubPush, toStorageEvent } from '#infra/embedded/messages/push-request.ts';
import { startScheduler } from '#infra/embedded/messages/scheduler.ts';
import { type PortBook, readPortBook, writePortBook } from '#infra/embedded/port-book.ts';
import type { Environment } from '#infra/embedded/vms/vm-environment.ts';
import { createLogger, type Logger } from '#shared/observability/logger.ts';

export type EmbeddedCloudOptions = {
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
  /** Puts something between functions and adapters, to measure what passes or to have it fail. */
  readonly wrapPorts?: ((ports: FunctionPorts) => FunctionPorts) | undefined;
};

export type EmbeddedCloud = {
  readonly endpoints: Endpoints;
  /** Ends everything, VMs too: their jobs go on in a new attempt at the next start. */
  stop(): Promise<void>;
};

const DELIVERIES_AT_ONCE_MAX = 8;

/** Starts the whole of Dropforge on this machine: Google's doors, the functions behind them, and the bus between. */
export async function startEmbeddedCloud(options: EmbeddedCloudOptions): Promise<EmbeddedCloud> {
  const lock = lockDataDir(options.dataDir);
  if (lock === undefined) {
    throw new Error(`Another cloud runs on ${options.dataDir}. Stop it first, or give another --data-dir.`);
  }
  try {
    return await startLocked(options, lock.release);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function startLocked(options: EmbeddedCloudOptions, releaseLock: () => void): Promise<EmbeddedCloud> {
  const config =
    options.config === undefined
      ? await readEmbeddedConfig(options.configFile)
      : checkEmbeddedConfig(options.config, 'the given configuration');
  const book = await openPortBook(options);
  const logger = createLogger(options.writeLog);
  const ports = await connectEmbedded({ ...options, config, book, logger });
  const functionPorts = options.wrapPorts?.(ports.functions) ?? ports.functions;
  const functions = await startFunctionServers(functionPorts, { heartbeat: book.heartbeat, api: book.api });
  const servers = await openDoors(ports, book, logger);
  const dispatcher = createPushDispatcher(ports.queue, subscribe(functions, config), {
    clock: ports.clock,
    logger,
  });
  dispatcher.start();
  const scheduler = startScheduler(ports.queue, config, logger);
  const endpoints = endpointsOf(ports, book);
  await writeEndpoints(options.dataDir, endpoints);

  async function stop(): Promise<void> {
    scheduler.stop();
    await dispatcher.stop();
    // The host goes down: jobs learn it at the next start, and need not wait for a lease to pass.
    for (const vm of await ports.vms.list()) {
      announceInterruption(ports, vm, 'compute.instances.terminateOnHostMaintenance');
    }
    // The doors stay open meanwhile: what programs have done is saved, and agents say how it ended.
    await ports.vms.close({ isKeepingVms: false });
    await functions.close();
    await Promise.all(servers.map(closeServer));
    ports.database.close();
    await removeEndpoints(options.dataDir);
    releaseLock();
  }
  return { endpoints, stop };
}

/** A port that was given must be had; one that is only remembered may have been taken by somebody else. */
async function openPortBook({ dataDir, ports = {} }: EmbeddedCloudOptions): Promise<PortBook> {
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

async function openDoors(ports: EmbeddedPorts, book: PortBook, logger: Logger): Promise<readonly Server[]> {
  const cloud = new Hono();
  cloud.route('/', createLoggingDoor(ports.logs));
  cloud.route('/', createPubsubDoor(ports.queue));
  cloud.route('/admin', createAdminDoor(ports));
  cloud.get('/oauth2/v3/certs', (context) => context.json(ports.identity.jwks));
  const storage = createStorageDoor(ports.objects, {
    reportFault: (fault) => logger.log('ERROR', 'storage door failed', { problem: String(fault) }),
  });
  const servers = [
    createServer(getRequestListener(cloud.fetch)),
    createServer(getRequestListener(storage.fetch)),
  ] as const;
  // Node would end an upload after five minutes.
  servers[1].requestTimeout = 0;
  await listen(servers[0], book.cloud);
  await listen(servers[1], book.storage);
  return servers;
}

function subscribe(functions: FunctionServers, { projectId, deliveriesMax }: EmbeddedConfig): readonly Subscription[] {
  return (Object.keys(SUBSCRIPTIONS) as EventFunctionName[]).map((name) => {
    const topic = SUBSCRIPTIONS[name];
    return {
      topic,
      // The framework reads the topic of a raw push from the path.
      url: `http://${HOST}:${functions.portOf(name)}/projects/${projectId}/topics/${topic}`,
      toRequest: topic === 'uploads' ? toStorageEvent : toPubsubPush(projectId),
      deliveriesMax,
      concurrencyMax: DELIVERIES_AT_ONCE_MAX,
    };
  });
}

function endpointsOf({ projectId, uploadBucket, jobsBucket }: EmbeddedPorts, book: PortBook): Endpoints {
  const url = (port: number) => `http://${HOST}:${port}`;
  return {
    pid: process.pid,
    projectId,
    api: url(book.api),
    storage: url(book.storage),
    pubsub: url(book.cloud),
    admin: `${url(book.cloud)}/admin`,
    uploadBucket,
    jobsBucket,
  };
}
