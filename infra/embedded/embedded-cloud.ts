import type { FunctionPorts } from '#functions/function-ports.ts';
import { EVENT_FUNCTION_NAMES, topicOf } from '#functions/functions.ts';
import { type Cleanup, createCleanup } from '#infra/embedded/cleanup.ts';
import { deleteStagedUploads } from '#infra/embedded/cloud-storage/delete-staged-uploads.ts';
import { runPeriodically } from '#infra/embedded/cloud-storage/run-periodically.ts';
import { trimCache } from '#infra/embedded/cloud-storage/trim-cache.ts';
import { describePodmanAlone } from '#infra/embedded/container-engine.ts';
import { type Endpoints, writeEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import type { ServerPorts } from '#infra/embedded/data-dir/server-ports.ts';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { channelSubscriptionsOf, type EmbeddedPorts, publishInterruption } from '#infra/embedded/embedded-ports.ts';
import { type EmbeddedServersOptions, startEmbeddedServers } from '#infra/embedded/embedded-servers.ts';
import { type FunctionServers, startFunctionServers } from '#infra/embedded/function-servers.ts';
import { HOST } from '#infra/embedded/http/server.ts';
import { createPushDispatcher, type Subscription } from '#infra/embedded/pubsub/push-dispatcher.ts';
import { startScheduler } from '#infra/embedded/pubsub/scheduler.ts';
import type { Logger } from '#shared/observability/logger.ts';

export type EmbeddedCloudOptions = EmbeddedServersOptions & {
  /** Wraps the adapters passed to the functions, to measure calls or inject errors. */
  readonly wrapPorts?: ((ports: FunctionPorts) => FunctionPorts) | undefined;
};

export type EmbeddedCloud = {
  readonly endpoints: Endpoints;
  /** Stops everything, including VMs: their jobs continue in a new attempt at the next start. */
  stop(): Promise<void>;
};

const CONCURRENT_DELIVERIES_MAX = 8;

const START_ATTEMPTS_MAX = 5;

/** The age in terraform/modules/storage/buckets.tf. */
const CACHE_AGE_MS_MAX = 8 * 86_400_000;

const TRIM_INTERVAL_MS = 10_000;
const STAGED_INTERVAL_MS = 3_600_000;

/** Starts Dropforge on this machine: the emulators of Google's services, the functions, and the message bus. */
export async function startEmbeddedCloud(options: EmbeddedCloudOptions): Promise<EmbeddedCloud> {
  for (let attempt = 1; ; attempt += 1) {
    const cleanup = createCleanup();
    try {
      const endpoints = await startOnce(options, cleanup);
      return { endpoints, stop: () => cleanup.run() };
    } catch (error) {
      await cleanup.run();
      // Ports are chosen before they are bound, because VM settings contain them: another process may bind one first.
      if (Object(error).code !== 'EADDRINUSE' || attempt >= START_ATTEMPTS_MAX) {
        throw error;
      }
    }
  }
}

async function startOnce(options: EmbeddedCloudOptions, cleanup: Cleanup): Promise<Endpoints> {
  const { ports, serverPorts, config, logger } = await startEmbeddedServers(options, cleanup);
  const functionPorts = options.wrapPorts?.(ports.functions) ?? ports.functions;
  const functions = await startFunctionServers(functionPorts, {
    heartbeat: serverPorts.heartbeat,
    api: serverPorts.api,
  });
  cleanup.defer(() => functions.close());
  // Servers and functions stay open until the VMs have ended: agents save outputs and report exits.
  cleanup.defer(() => ports.vms.close({ isKeepingVms: false }));
  // Jobs handle the interruption at the next start, without waiting for leases to expire.
  cleanup.defer(() => publishShutdown(ports));
  const dispatcher = createPushDispatcher(ports.queue, subscribe(functions, config), { clock: ports.clock, logger });
  dispatcher.start();
  cleanup.defer(() => dispatcher.stop());
  const scheduler = startScheduler(ports.queue, config.timeouts, logger);
  cleanup.defer(() => scheduler.stop());
  cleanBuckets(ports, config, { logger, cleanup });
  const endpoints = endpointsOf(ports, serverPorts);
  await writeEndpoints(options.dataDir, endpoints);
  const missing = describePodmanAlone(options.environment);
  if (missing !== null) {
    logger.log('WARNING', missing);
  }
  return endpoints;
}

/** Deletes what the lifecycle rules of a deployment's buckets delete. */
function cleanBuckets(
  { objects, cacheBucket, jobsBucket }: EmbeddedPorts,
  { cacheBytesMax }: EmbeddedConfig,
  { logger, cleanup }: { readonly logger: Logger; readonly cleanup: Cleanup },
): void {
  const limits = { bucket: cacheBucket, bytesMax: cacheBytesMax, ageMsMax: CACHE_AGE_MS_MAX };
  const trimming = runPeriodically(() => trimCache(objects, limits, Date.now()), {
    ...{ intervalMs: TRIM_INTERVAL_MS, failure: 'the cache of packages could not be trimmed', logger },
  });
  const deleting = runPeriodically(() => deleteStagedUploads(objects, { bucket: jobsBucket, now: Date.now() }), {
    ...{ intervalMs: STAGED_INTERVAL_MS, failure: 'uploads that were not started could not be deleted', logger },
  });
  cleanup.defer(() => trimming.stop());
  cleanup.defer(() => deleting.stop());
}

async function publishShutdown(ports: EmbeddedPorts): Promise<void> {
  for (const vm of await ports.vms.list()) {
    publishInterruption(ports, vm, 'compute.instances.terminateOnHostMaintenance');
  }
}

/** A subscription of each function, and one of `notify` for each channel, named after it. */
function subscribe(functions: FunctionServers, config: EmbeddedConfig): readonly Subscription[] {
  const { projectId, deliveriesMax } = config;
  const own = EVENT_FUNCTION_NAMES.filter((name) => name !== 'notify').map((name) => [name, topicOf(name)] as const);
  const channels = channelSubscriptionsOf(config).map((topic) => ['notify', topic] as const);
  return [...own, ...channels].map(([name, topic]) => {
    return {
      topic,
      url: `http://${HOST}:${functions.portOf(name)}`,
      projectId,
      deliveriesMax,
      concurrencyMax: CONCURRENT_DELIVERIES_MAX,
    };
  });
}

function endpointsOf({ projectId, uploadBucket, jobsBucket }: EmbeddedPorts, serverPorts: ServerPorts): Endpoints {
  const url = (port: number) => `http://${HOST}:${port}`;
  return {
    pid: process.pid,
    projectId,
    api: url(serverPorts.api),
    storage: url(serverPorts.storage),
    pubsub: url(serverPorts.cloud),
    compute: url(serverPorts.cloud),
    secretManager: url(serverPorts.cloud),
    admin: `${url(serverPorts.cloud)}/admin`,
    uploadBucket,
    jobsBucket,
  };
}
