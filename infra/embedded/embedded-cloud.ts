import type { FunctionPorts } from '#functions/function-ports.ts';
import { EVENT_FUNCTION_NAMES, topicOf } from '#functions/functions.ts';
import { type Endpoints, writeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import type { PortBook } from '#infra/embedded/data-dir/server-ports.ts';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { announceInterruption, type EmbeddedPorts } from '#infra/embedded/embedded-ports.ts';
import { type EmbeddedServersOptions, startEmbeddedServers } from '#infra/embedded/embedded-servers.ts';
import { type FunctionServers, startFunctionServers } from '#infra/embedded/function-servers.ts';
import { HOST } from '#infra/embedded/http/server.ts';
import { createPushDispatcher, type Subscription, toPubsubPush } from '#infra/embedded/pubsub/push-dispatcher.ts';
import { startScheduler } from '#infra/embedded/pubsub/scheduler.ts';

export type EmbeddedCloudOptions = EmbeddedServersOptions & {
  /** Puts something between functions and adapters, to measure what passes or to have it fail. */
  readonly wrapPorts?: ((ports: FunctionPorts) => FunctionPorts) | undefined;
};

export type EmbeddedCloud = {
  readonly endpoints: Endpoints;
  /** Ends everything, VMs too: their jobs go on in a new attempt at the next start. */
  stop(): Promise<void>;
};

const DELIVERIES_AT_ONCE_MAX = 8;

const STARTS_MAX = 5;

/** Starts the whole of Dropforge on this machine: Google's doors, the functions behind them, and the bus between. */
export async function startEmbeddedCloud(options: EmbeddedCloudOptions): Promise<EmbeddedCloud> {
  for (let starts = 1; ; starts += 1) {
    const resources = new AsyncDisposableStack();
    try {
      const endpoints = await startLocked(options, resources);
      return { endpoints, stop: () => resources.disposeAsync() };
    } catch (error) {
      await resources.disposeAsync();
      // Ports are chosen before anything listens at them, for VMs are told of them: somebody may have been faster.
      if (Object(error).code !== 'EADDRINUSE' || starts >= STARTS_MAX) {
        throw error;
      }
    }
  }
}

async function startLocked(options: EmbeddedCloudOptions, resources: AsyncDisposableStack): Promise<Endpoints> {
  const { ports, book, config, logger } = await startEmbeddedServers(options, resources);
  const functionPorts = options.wrapPorts?.(ports.functions) ?? ports.functions;
  const functions = await startFunctionServers(functionPorts, { heartbeat: book.heartbeat, api: book.api });
  resources.defer(() => functions.close());
  // The doors and the functions stay open meanwhile: what programs have done is saved, and agents say how it ended.
  resources.defer(() => ports.vms.close({ isKeepingVms: false }));
  // The host goes down: jobs learn it at the next start, and need not wait for a lease to pass.
  resources.defer(() => announceEnd(ports));
  const dispatcher = createPushDispatcher(ports.queue, subscribe(functions, config), { clock: ports.clock, logger });
  dispatcher.start();
  resources.defer(() => dispatcher.stop());
  const scheduler = startScheduler(ports.queue, config, logger);
  resources.defer(() => scheduler.stop());
  const endpoints = endpointsOf(ports, book);
  await writeEndpoints(options.dataDir, endpoints);
  return endpoints;
}

async function announceEnd(ports: EmbeddedPorts): Promise<void> {
  for (const vm of await ports.vms.list()) {
    announceInterruption(ports, vm, 'compute.instances.terminateOnHostMaintenance');
  }
}

function subscribe(functions: FunctionServers, { projectId, deliveriesMax }: EmbeddedConfig): readonly Subscription[] {
  return EVENT_FUNCTION_NAMES.map((name) => {
    const topic = topicOf(name);
    return {
      topic,
      // The framework reads the topic of a raw push from the path.
      url: `http://${HOST}:${functions.portOf(name)}/projects/${projectId}/topics/${topic}`,
      toRequest: toPubsubPush(projectId),
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
    compute: url(book.cloud),
    secretManager: url(book.cloud),
    admin: `${url(book.cloud)}/admin`,
    uploadBucket,
    jobsBucket,
  };
}
