import { join } from 'node:path';
import { createLocalJWKSet } from 'jose';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { type FileLogStore, openFileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { finalizeNotificationOf } from '#infra/embedded/cloud-storage/notification.ts';
import {
  type EmbeddedObjectStore,
  openDirectoryObjectStore,
} from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { auditLogEntryOf } from '#infra/embedded/compute-engine/audit-log-entry.ts';
import type { Environment } from '#infra/embedded/compute-engine/vms/environment.ts';
import { openVmIdentityIssuer, type VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import { localAddressOf } from '#infra/embedded/compute-engine/vms/local-address.ts';
import type { InterruptionMethod } from '#infra/embedded/compute-engine/vms/machine.ts';
import {
  type EmbeddedVmProvider,
  openProcessVmProvider,
} from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import { type Database, openDatabase } from '#infra/embedded/data-dir/database.ts';
import type { ServerPorts } from '#infra/embedded/data-dir/server-ports.ts';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { readEmbeddedIntakeSettings } from '#infra/embedded/embedded-intake.ts';
import { HOST } from '#infra/embedded/http/server.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { type MessageQueue, openSqliteMessageQueue } from '#infra/embedded/pubsub/message-queue.ts';
import { openSqliteSecretStore, type SecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import { packAgent, readShutdownScript, readStartupScript } from '#infra/vm-agent/pack-agent.ts';
import { createVmIdentityVerifier } from '#shared/api/verify-vm-identity.ts';
import { readCatalog } from '#shared/catalog/catalog.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-request.ts';

export type EmbeddedPorts = {
  readonly projectId: string;
  readonly uploadBucket: string;
  readonly jobsBucket: string;
  readonly clock: Clock;
  readonly database: Database;
  readonly queue: MessageQueue;
  readonly objects: EmbeddedObjectStore;
  readonly logs: FileLogStore;
  readonly secrets: SecretStore;
  readonly identity: VmIdentityIssuer;
  readonly vms: EmbeddedVmProvider;
  readonly functions: FunctionPorts;
};

type Options = {
  readonly dataDir: string;
  readonly config: EmbeddedConfig;
  readonly serverPorts: ServerPorts;
  readonly logger: Logger;
  /** The environment of this machine, from which VMs get their settings for network, Python and packages. */
  readonly environment: Environment;
};

/** Opens all adapters of the embedded cloud on one data directory. */
export async function openEmbeddedPorts(options: Options): Promise<EmbeddedPorts> {
  const { dataDir, config, serverPorts, logger } = options;
  const { projectId } = config;
  const [uploadBucket, jobsBucket] = [`${projectId}-uploads`, `${projectId}-jobs`];
  const clock = { now: Date.now };
  const database = openDatabase(join(dataDir, 'dropforge.db'));
  const queue = openSqliteMessageQueue(database, clock);
  const objects = openObjects({ ...options, database, queue, uploadBucket, clock });
  objects.createBucket(uploadBucket);
  objects.createBucket(jobsBucket);
  const logs = openFileLogStore(join(dataDir, 'logs'));
  const secrets = openSqliteSecretStore(database, clock);
  const serviceAccountEmail = `dropforge-vm@${projectId}.iam.gserviceaccount.com`;
  const identity = await openVmIdentityIssuer({ database, clock, projectId, serviceAccountEmail });
  const vms = await openVms({ ...options, database, clock, queue, identity });
  const heartbeatAudience = `http://${HOST}:${serverPorts.heartbeat}/heartbeat`;
  const functions: FunctionPorts = {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    capacity: openSqliteCapacityHistory(database),
    bus: queue,
    vms,
    objects,
    logs,
    clock,
    logger,
    timeouts: timeoutsOf(config),
    vmSettings: await vmSettingsOf(config, serverPorts, heartbeatAudience),
    intake: await readEmbeddedIntakeSettings(config, { uploadBucket, jobsBucket }),
    verifyVmIdentity: createVmIdentityVerifier({
      jwks: createLocalJWKSet(identity.jwks),
      issuer: identity.issuer,
      audience: heartbeatAudience,
      serviceAccountEmail,
      projectId,
    }),
  };
  const stores = { database, queue, objects, logs, secrets };
  return { projectId, uploadBucket, jobsBucket, clock, ...stores, identity, vms, functions };
}

type WithDatabase = Options & { readonly database: Database; readonly clock: Clock; readonly queue: MessageQueue };

function openObjects({
  dataDir,
  database,
  queue,
  uploadBucket,
  clock,
}: WithDatabase & { readonly uploadBucket: string }) {
  return openDirectoryObjectStore({
    database,
    clock,
    directory: join(dataDir, 'objects'),
    onFinalized(info) {
      if (info.bucket === uploadBucket) {
        const { data, attributes } = finalizeNotificationOf(info);
        queue.enqueue('uploads', data, attributes);
      }
    },
  });
}

function openVms({
  dataDir,
  config,
  database,
  clock,
  queue,
  identity,
  logger,
  environment,
}: WithDatabase & { readonly identity: VmIdentityIssuer }) {
  const zones =
    config.zones ??
    Object.values(readCatalog().regions)
      .flat()
      .map((name) => ({ name, vmsMax: config.vmsMax }));
  return openProcessVmProvider({
    database,
    clock,
    identity,
    host: environment,
    writeLog: (line) => logger.log('WARNING', 'embedded VM', { problem: line }),
    directory: join(dataDir, 'vms'),
    config: {
      zones,
      vmsMax: config.vmsMax,
      machineImages: config.machineImages,
      preemptionNoticeMs: config.preemptionNoticeSeconds * 1_000,
      stopGraceMs: config.stopGraceSeconds * 1_000,
    },
    onInterrupted: async (vm, methodName) =>
      publishInterruption({ queue, clock, projectId: config.projectId }, vm, methodName),
  });
}

type InterruptionPublisher = Pick<EmbeddedPorts, 'queue' | 'clock' | 'projectId'>;

/** Publishes Compute Engine's audit log entry for an interrupted VM to the topic of the log sink. */
export function publishInterruption(
  { queue, clock, projectId }: InterruptionPublisher,
  vm: Vm,
  methodName: InterruptionMethod,
): void {
  const entry = auditLogEntryOf(vm, { projectId, methodName, at: clock.now() });
  queue.enqueue('interruptions', Buffer.from(JSON.stringify(entry)));
}

async function vmSettingsOf(
  config: EmbeddedConfig,
  serverPorts: ServerPorts,
  heartbeatAudience: string,
): Promise<VmSettings> {
  const [first] = config.machineImages;
  const images = config.machineImages.map(({ name }) => name);
  return {
    projectId: config.projectId,
    endpoints: {
      heartbeatUrl: heartbeatAudience,
      heartbeatAudience,
      storageUrl: `http://${HOST}:${serverPorts.storage}`,
      loggingUrl: `http://${HOST}:${serverPorts.cloud}`,
      secretManagerUrl: `http://${HOST}:${serverPorts.cloud}`,
    },
    intervals: {
      heartbeatSeconds: config.heartbeatSeconds,
      syncSeconds: config.syncSeconds,
      logSeconds: config.logSeconds,
    },
    limits: {
      stopGraceSeconds: config.stopGraceSeconds,
      preemptionNoticeSeconds: config.preemptionNoticeSeconds,
      controlPlaneTimeoutSeconds: config.controlPlaneTimeoutSeconds,
      logBytesMax: config.logBytesMax,
      diskBytesMax: config.diskBytesMax,
    },
    startupScript: await readStartupScript(),
    shutdownScript: await readShutdownScript(),
    agent: await packAgent(),
    clusterAddressOf: localAddressOf,
    machineImageOf: (runtimeVersion) => images.find((name) => name.endsWith(runtimeVersion)) ?? first?.name ?? '',
  };
}

function timeoutsOf(config: EmbeddedConfig): Timeouts {
  return {
    provisionAnswerMs: config.provisionAnswerSeconds * 1_000,
    bootMs: config.bootSeconds * 1_000,
    pendingMs: config.pendingSeconds * 1_000,
    leaseMs: config.leaseSeconds * 1_000,
    controlPlaneTimeoutMs: config.controlPlaneTimeoutSeconds * 1_000,
    teardownMs: config.teardownSeconds * 1_000,
    maxRunningGraceMs: config.maxRunningGraceSeconds * 1_000,
    earlyCancelMs: config.earlyCancelSeconds * 1_000,
    coolDownMs: config.coolDownSeconds * 1_000,
    backoffMsMin: config.backoffSecondsMin * 1_000,
    backoffMsMax: config.backoffSecondsMax * 1_000,
  };
}
