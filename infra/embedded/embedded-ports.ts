import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { createLocalJWKSet } from 'jose';
import type { FunctionPorts } from '#functions/function-ports.ts';
import { type FileLogStore, openFileLogStore } from '#infra/embedded/cloud-logging/file-log-store.ts';
import { finalizeNotificationOf } from '#infra/embedded/cloud-storage/notification.ts';
import { createCloudStorageServer } from '#infra/embedded/cloud-storage/server.ts';
import {
  type EmbeddedObjectStore,
  openDirectoryObjectStore,
} from '#infra/embedded/cloud-storage/store/directory-object-store.ts';
import { auditLogEntryOf } from '#infra/embedded/compute-engine/audit-log-entry.ts';
import { withQuotas } from '#infra/embedded/compute-engine/quotas.ts';
import { type FaultyZones, openFaultyZones } from '#infra/embedded/compute-engine/vms/faulty-zones.ts';
import { openVmIdentityIssuer, type VmIdentityIssuer } from '#infra/embedded/compute-engine/vms/identity.ts';
import { localAddressOf, localPeerAddressOf } from '#infra/embedded/compute-engine/vms/local-address.ts';
import type { InterruptionMethod } from '#infra/embedded/compute-engine/vms/machine.ts';
import {
  type EmbeddedVmProvider,
  openProcessVmProvider,
} from '#infra/embedded/compute-engine/vms/process-vm-provider.ts';
import { withOutages } from '#infra/embedded/compute-engine/zone-outages.ts';
import { openCheckedDatabase } from '#infra/embedded/data-dir/checked-database.ts';
import type { Database } from '#infra/embedded/data-dir/database.ts';
import type { ServerPorts } from '#infra/embedded/data-dir/server-ports.ts';
import type { EmbeddedConfig } from '#infra/embedded/embedded-config.ts';
import { embeddedRightsOf, machineLimitsOf, readEmbeddedIntakeSettings } from '#infra/embedded/embedded-intake.ts';
import { HOST } from '#infra/embedded/http/server.ts';
import { openSqliteCapacityHistory } from '#infra/embedded/job-state/capacity-history.ts';
import { openSqliteChangeFeed } from '#infra/embedded/job-state/change-feed.ts';
import { openSqliteCurveStore } from '#infra/embedded/job-state/curve-store.ts';
import { openSqliteDeploymentKey } from '#infra/embedded/job-state/deployment-key.ts';
import { openSqliteJobStore } from '#infra/embedded/job-state/job-store.ts';
import { openSqliteNotificationLog } from '#infra/embedded/job-state/notification-log.ts';
import { openSqliteReplicaStore } from '#infra/embedded/job-state/replica-store.ts';
import { openSqliteTuningStore } from '#infra/embedded/job-state/tuning-store.ts';
import { type MessageQueue, openSqliteMessageQueue, type QueueName } from '#infra/embedded/pubsub/message-queue.ts';
import { openSqliteSecretStore, type SecretStore } from '#infra/embedded/secret-manager/secret-store.ts';
import { createStoredSecrets } from '#infra/embedded/secret-manager/stored-secrets.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { createPublicReads } from '#infra/embedded/vm-proxy/public-reads.ts';
import { createNotificationSender } from '#infra/notifications/notification-sender.ts';
import { createBuiltPageAssets } from '#infra/page/built-page-assets.ts';
import { createImageRegistry } from '#infra/registry/image-registry.ts';
import { credentialsFromSecrets } from '#infra/registry/secret-credentials.ts';
import { readShutdownScript, readStartupScript } from '#infra/vm-agent/boot-scripts.ts';
import { packAgent } from '#infra/vm-agent/pack-agent.ts';
import { createVmIdentityVerifier } from '#shared/api/verify-vm-identity.ts';
import { readCatalog } from '#shared/catalog/catalog.ts';
import { FINAL_SAVE_MS_MAX } from '#shared/domain/timeouts.ts';
import type { Logger } from '#shared/observability/logger.ts';
import type { Clock } from '#shared/ports/clock.ts';
import type { SecretNames } from '#shared/ports/secret-names.ts';
import type { SecretReader } from '#shared/ports/secret-reader.ts';
import type { Vm } from '#shared/ports/vm-provider.ts';
import type { AgentRef } from '#shared/protocol/agent-ref.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import { cachedEnvironmentsIn } from '#shared/use-cases/provision/cached-environments.ts';
import { imageCredentialsIn } from '#shared/use-cases/provision/image-credentials.ts';
import type { VmSettings } from '#shared/use-cases/provision/vm-settings.ts';
import { createUpdatePublisher } from '#shared/views/job-update.ts';

/** Where public buckets are that the embedded cloud does not have. */
const PUBLIC_STORAGE = 'https://storage.googleapis.com';

export type EmbeddedPorts = {
  readonly projectId: string;
  readonly uploadBucket: string;
  readonly jobsBucket: string;
  readonly cacheBucket: string;
  readonly clock: Clock;
  readonly database: Database;
  readonly queue: MessageQueue;
  readonly objects: EmbeddedObjectStore;
  readonly logs: FileLogStore;
  readonly secrets: SecretStore;
  readonly identity: VmIdentityIssuer;
  readonly vms: EmbeddedVmProvider;
  readonly outages: FaultyZones;
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
  const cacheBucket = `${projectId}-cache`;
  const clock = { now: Date.now };
  const database = openCheckedDatabase(dataDir);
  const queue = openSqliteMessageQueue(database, clock, { 'job-updates': channelSubscriptionsOf(config) });
  const objects = openObjects({ ...options, database, queue, uploadBucket, clock });
  createBuckets(objects, config, [uploadBucket, jobsBucket, cacheBucket]);
  const agent = await storeAgent(objects, `${projectId}-sources`);
  const logs = openFileLogStore(join(dataDir, 'logs'));
  const secrets = openSqliteSecretStore(database, clock);
  const serviceAccountEmail = `dropforge-vm@${projectId}.iam.gserviceaccount.com`;
  const identity = await openVmIdentityIssuer({ database, clock, projectId, serviceAccountEmail });
  const machines = await openVms({ ...options, database, clock, queue, objects, identity });
  const vms = withQuotas(machines, config.quotas);
  const outages = openFaultyZones(database, 'zone_outages');
  const storedSecrets = createStoredSecrets(secrets, projectId);
  const pageUrl = `http://${HOST}:${serverPorts.api}`;
  const heartbeatAudience = `http://${HOST}:${serverPorts.heartbeat}/heartbeat`;
  const state = openState(database);
  const functions: FunctionPorts = {
    ...state,
    bus: queue,
    updates: createUpdatePublisher({ ...state, bus: queue, logger, pageUrl }),
    vms: withOutages(vms, outages),
    objects,
    logs,
    page: createBuiltPageAssets(),
    channels: config.notifications,
    pageUrl,
    // This machine may also send to itself, and to private networks.
    sender: createNotificationSender({ allowsPrivateAddresses: true }),
    secrets: storedSecrets,
    ...(await openIntake(options, storedSecrets, { uploadBucket, jobsBucket })),
    clock,
    logger,
    timeouts: { ...config.timeouts, controlPlaneTimeoutMs: config.controlPlaneTimeoutSeconds * 1_000 },
    vmSettings: await vmSettingsOf(config, serverPorts, { heartbeatAudience, cacheBucket, agent }),
    verifyVmIdentity: createVmIdentityVerifier({
      jwks: createLocalJWKSet(identity.jwks),
      issuer: identity.issuer,
      audience: heartbeatAudience,
      serviceAccountEmail,
      projectId,
    }),
  };
  const stores = { database, queue, objects, logs, secrets };
  return { projectId, uploadBucket, jobsBucket, cacheBucket, clock, ...stores, identity, vms, outages, functions };
}

function openState(database: Database) {
  return {
    jobs: openSqliteJobStore(database),
    replicas: openSqliteReplicaStore(database),
    tunings: openSqliteTuningStore(database),
    changes: openSqliteChangeFeed(database),
    curves: openSqliteCurveStore(database),
    capacity: openSqliteCapacityHistory(database),
    notifications: openSqliteNotificationLog(database),
    deploymentKey: openSqliteDeploymentKey(database),
  };
}

/** The subscriptions of the notification channels: each gets a copy of every job update. */
export function channelSubscriptionsOf({ notifications }: EmbeddedConfig): readonly QueueName[] {
  return Object.keys(notifications).map((name) => `${SUBSCRIPTION_PREFIX}${name}` as const);
}

function createBuckets(objects: EmbeddedObjectStore, config: EmbeddedConfig, names: readonly string[]): void {
  const accountBuckets = Object.values(embeddedRightsOf(config).accounts).map(({ bucket }) => bucket);
  for (const bucket of [...names, ...accountBuckets]) {
    objects.createBucket(bucket);
  }
}

/** On this machine, registries of private networks and of this machine are read, too. */
async function openIntake(
  { config, environment }: Options,
  secrets: SecretReader & SecretNames,
  buckets: Pick<FunctionPorts['intake'], 'uploadBucket' | 'jobsBucket'>,
): Promise<Pick<FunctionPorts, 'registry' | 'intake'>> {
  const network = { allowsPrivateAddresses: true, proxyEnvironment: environment };
  return {
    registry: createImageRegistry(credentialsFromSecrets(config.registries, secrets), network),
    intake: await readEmbeddedIntakeSettings(config, { ...buckets, secretNames: secrets }, environment),
  };
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
    onFinalized(object) {
      if (object.bucket === uploadBucket) {
        const { data, attributes } = finalizeNotificationOf(object);
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
  objects,
  identity,
  logger,
  environment,
}: WithDatabase & { readonly objects: EmbeddedObjectStore; readonly identity: VmIdentityIssuer }) {
  const reportError = (error: Error) => logger.log('ERROR', 'storage server failed', { problem: String(error) });
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
    googleApis: {
      storage: getRequestListener(createCloudStorageServer(objects, { reportError }).fetch),
      hasBucket: (bucket) => objects.findBucket(bucket) !== undefined,
      readPublicly: config.publicBucketReads ? createPublicReads(PUBLIC_STORAGE, environment) : undefined,
    },
    writeLog: (line) => logger.log('WARNING', 'embedded VM', { problem: line }),
    directory: join(dataDir, 'vms'),
    config: {
      zones,
      vmsMax: config.vmsMax,
      machineImages: config.machineImages,
      preemptionNoticeMs: config.preemptionNoticeSeconds * 1_000,
      // The agent saves after the program's grace period.
      stopGraceMs: config.stopGraceSeconds * 1_000 + FINAL_SAVE_MS_MAX,
      diskReserveBytes: config.diskReserveBytes,
      serviceAccounts: config.jobAccounts,
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

/**
 * Agents of earlier versions stay: a VM that reboots may need its own. One that a program has changed is replaced:
 * on one machine, every process may write to every bucket.
 */
async function storeAgent(objects: EmbeddedObjectStore, bucket: string): Promise<AgentRef> {
  const { bytes, sha256, objectName: name } = await packAgent();
  objects.createBucket(bucket);
  const md5 = createHash('md5').update(bytes).digest('base64');
  if (objects.find({ bucket, name })?.md5 !== md5) {
    await objects.write({ bucket, name }, bytes, { contentType: 'application/zip' });
  }
  return { uri: `gs://${bucket}/${name}`, sha256 };
}

async function vmSettingsOf(
  config: EmbeddedConfig,
  serverPorts: ServerPorts,
  given: { readonly heartbeatAudience: string; readonly cacheBucket: string; readonly agent: AgentRef },
): Promise<VmSettings> {
  const { heartbeatAudience, cacheBucket, agent } = given;
  const cachedEnvironments = cachedEnvironmentsIn(cacheBucket, Math.floor(config.cacheBytesMax / 2));
  const [first] = config.machineImages;
  const images = config.machineImages.map(({ name }) => name);
  return {
    cachedEnvironments,
    // One for all accounts: the server checks no access.
    cachedEnvironmentsOf: () => cachedEnvironments,
    projectId: config.projectId,
    endpoints: {
      heartbeatUrl: heartbeatAudience,
      heartbeatAudience,
      storageUrl: `http://${HOST}:${serverPorts.storage}`,
      loggingUrl: `http://${HOST}:${serverPorts.cloud}`,
      secretManagerUrl: `http://${HOST}:${serverPorts.cloud}`,
    },
    intervals: {
      heartbeatSeconds: config.timeouts.heartbeatMs / 1_000,
      syncSeconds: config.timeouts.syncMs / 1_000,
      logSeconds: config.timeouts.logMs / 1_000,
    },
    limits: {
      stopGraceSeconds: config.stopGraceSeconds,
      preemptionNoticeSeconds: config.preemptionNoticeSeconds,
      controlPlaneTimeoutSeconds: config.controlPlaneTimeoutSeconds,
      logBytesMax: config.logBytesMax,
      diskBytesMax: config.diskBytesMax,
    },
    vmLimits: machineLimitsOf(config),
    hasRequestedGpus: false,
    imageCredentialsOf: imageCredentialsIn(config, { hasGoogleIdentity: false }),
    startupScript: await readStartupScript(),
    shutdownScript: await readShutdownScript(),
    agent,
    clusterAddressOf: localAddressOf,
    peerAddressOf: localPeerAddressOf,
    machineImageOf: (runtimeVersion) => images.find((name) => name.endsWith(runtimeVersion)) ?? first?.name ?? '',
  };
}
