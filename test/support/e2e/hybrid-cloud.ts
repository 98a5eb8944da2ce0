import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PubSub } from '@google-cloud/pubsub';
import {
  EVENT_FUNCTION_NAMES,
  type EventFunctionName,
  FUNCTION_NAMES,
  type FunctionName,
  topicOf,
} from '#functions/functions.ts';
import { type Cleanup, createCleanup } from '#infra/embedded/cleanup.ts';
import { type EmbeddedServers, startEmbeddedServers } from '#infra/embedded/embedded-servers.ts';
import { createPushDispatcher, type Subscription } from '#infra/embedded/pubsub/push-dispatcher.ts';
import { SUBSCRIPTION_PREFIX } from '#shared/protocol/notification-channels.ts';
import type { EmulatorHosts } from '../google-cloud/emulators.ts';
import { createUser } from './cloud-under-test.ts';
import { type FunctionProcesses, findFreePorts, startFunctionProcesses } from './function-processes.ts';

/** Pub/Sub's minimum and maximum (docs, "Push subscriptions", "Dead letter policy"). */
const ACK_SECONDS = 600;
const DELIVERIES_MAX = 5;

/** In place of Cloud Scheduler, which publishes every few minutes. */
const TICK_MS = 500;

const RUNTIME_VERSION = '2.11';

/** A notification channel; the test stores its secrets. */
const CHANNEL = 'hook';
const CHANNEL_SETTINGS = { kind: 'webhook', secret: 'hook-url', signingSecret: 'hook-key' };

/**
 * Topics that Google's services publish to. Here the embedded emulators do: there are no official emulators of those
 * services.
 */
const TOPICS_OF_GOOGLE = ['uploads', 'interruptions'] as const;

/**
 * Dropforge as deployed, as far as possible on this machine: every function from its bundle in its own process, with
 * Google's adapters; the official emulators of Firestore and Pub/Sub with push subscriptions; Cloud Storage,
 * Compute Engine, Cloud Logging and the metadata servers of the embedded cloud, and its processes as VMs.
 */
export async function startHybridCloud(hosts: EmulatorHosts) {
  const resources = createCleanup();
  const dataDir = await mkdtemp(join(tmpdir(), 'dropforge-hybrid-'));
  resources.defer(() => rm(dataDir, { recursive: true, force: true }));
  const log: string[] = [];
  const numbers = await findFreePorts(FUNCTION_NAMES.length);
  const ports = new Map(FUNCTION_NAMES.map((name, index) => [name, numbers[index] ?? 0]));
  const servers = await startEmbeddedServers(
    {
      dataDir,
      config: { vmsMax: 4, deliveriesMax: DELIVERIES_MAX },
      environment: { ...process.env, PATH: `${await writeGpuDriver(dataDir)}:${process.env.PATH}` },
      writeLog: (line) => void log.push(line),
    },
    resources,
  );
  const { projectId } = servers.ports;
  const functions = await startFunctionProcesses(ports, environmentOf(servers, hosts, ports), (text) => log.push(text));
  resources.defer(() => functions.stop());
  resources.defer(() => servers.ports.vms.close({ isKeepingVms: false }));
  await subscribe(projectId, hosts, { functions, resources });
  startServicesOfGoogle(servers, { functions, resources });
  const endpoints = {
    ...endpointsOf(servers),
    api: functions.urlOf('api'),
    pubsub: `http://${hosts.pubsub}`,
  };
  const storeSecret = (name: string, value: string) => {
    servers.ports.secrets.create(name);
    servers.ports.secrets.addVersion(name, Buffer.from(value));
  };
  return Object.assign(createUser(endpoints), { endpoints, log, storeSecret, stop: () => resources.run() });
}

/** VMs of Google's adapter wait for the GPUs that a job requested; these have one, which is listed and not measured. */
async function writeGpuDriver(parent: string): Promise<string> {
  const directory = join(parent, 'gpu-driver');
  await mkdir(directory);
  const script = '#!/bin/sh\n[ "$*" = -L ] && echo "GPU 0: NVIDIA L4 (UUID: GPU-0)"\n';
  await writeFile(join(directory, 'nvidia-smi'), script, { mode: 0o755 });
  return directory;
}

export type HybridCloud = Awaited<ReturnType<typeof startHybridCloud>>;

function endpointsOf({ ports: { projectId, uploadBucket, jobsBucket, cacheBucket }, serverPorts }: EmbeddedServers) {
  const cloud = `http://127.0.0.1:${serverPorts.cloud}`;
  const storage = `http://127.0.0.1:${serverPorts.storage}`;
  const services = { compute: cloud, secretManager: cloud, admin: `${cloud}/admin` };
  return { pid: process.pid, projectId, storage, ...services, uploadBucket, jobsBucket, cacheBucket };
}

/** The settings that Terraform sets, and the endpoints of Google's services. */
function environmentOf(
  servers: EmbeddedServers,
  hosts: EmulatorHosts,
  ports: ReadonlyMap<FunctionName, number>,
): Readonly<Record<string, string>> {
  const { projectId, storage, compute, uploadBucket, jobsBucket, cacheBucket } = endpointsOf(servers);
  const [machineImage] = servers.config.machineImages;
  return {
    PROJECT_ID: projectId,
    LOG_EXECUTION_ID: 'true',
    RELEASE: '5e'.repeat(32),
    FIRESTORE_DATABASE: '(default)',
    UPLOAD_BUCKET: uploadBucket,
    JOBS_BUCKET: jobsBucket,
    AGENT_URI: servers.ports.functions.vmSettings.agent.uri,
    CACHE_BUCKET: cacheBucket,
    REGION_DEFAULT: servers.config.regionDefault,
    ZONES: servers.config.regionDefault,
    RUNTIME_VERSION_DEFAULT: RUNTIME_VERSION,
    RUNTIME_IMAGES: JSON.stringify({ [RUNTIME_VERSION]: { machineImages: [machineImage?.name] } }),
    NOTIFICATION_CHANNELS: JSON.stringify({ [CHANNEL]: CHANNEL_SETTINGS }),
    PAGE_URL: `http://127.0.0.1:${ports.get('api')}`,
    SECURE_BOOT: 'false',
    SUBNETWORK: `projects/${projectId}/regions/{region}/subnetworks/dropforge`,
    VM_SERVICE_ACCOUNT: `dropforge-vm@${projectId}.iam.gserviceaccount.com`,
    HEARTBEAT_URL: `http://127.0.0.1:${ports.get('heartbeat')}`,
    HEARTBEAT_AUDIENCE: 'https://heartbeat.example',
    FIRESTORE_EMULATOR_HOST: hosts.firestore,
    PUBSUB_EMULATOR_HOST: hosts.pubsub,
    STORAGE_EMULATOR_HOST: storage,
    COMPUTE_ENDPOINT: compute,
    LOGGING_ENDPOINT: compute,
    SECRET_MANAGER_ENDPOINT: compute,
    IDENTITY_CERTS_URL: `${compute}/oauth2/v3/certs`,
  };
}

type Running = { readonly functions: FunctionProcesses; readonly resources: Cleanup };

/** Creates the topics and push subscriptions of the Terraform configuration on the emulator. */
async function subscribe(projectId: string, hosts: EmulatorHosts, { functions, resources }: Running): Promise<void> {
  const admin = new PubSub({ projectId, apiEndpoint: hosts.pubsub, emulatorMode: true });
  const topics = [...new Set(EVENT_FUNCTION_NAMES.map(topicOf))];
  for (const topic of topics) {
    await admin.createTopic(`dropforge-${topic}`);
  }
  const deadLetterTopic = `projects/${projectId}/topics/dropforge-dead-letters`;
  for (const name of EVENT_FUNCTION_NAMES) {
    const topic = topicOf(name);
    const subscription = subscriptionOf(name);
    await admin.topic(`dropforge-${topic}`).createSubscription(subscription, {
      pushConfig: { pushEndpoint: `${functions.urlOf(name)}/projects/${projectId}/topics/${subscription}` },
      ackDeadlineSeconds: ACK_SECONDS,
      retryPolicy: { minimumBackoff: { seconds: 1 }, maximumBackoff: { seconds: 10 } },
      ...(topic !== 'dead-letters' && { deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: DELIVERIES_MAX } }),
    });
  }
  resources.defer(async () => {
    // The emulator floods its log with failed deliveries to a closed endpoint.
    await Promise.all(EVENT_FUNCTION_NAMES.map((name) => admin.subscription(subscriptionOf(name)).delete()));
    await admin.close();
  });
  const publish = (topic: string, data: object) => admin.topic(`dropforge-${topic}`).publishMessage({ json: data });
  const scheduler = setInterval(() => void tick(publish), TICK_MS);
  resources.defer(() => clearInterval(scheduler));
}

/** Named after its topic or, of `notify`, after its channel. */
function subscriptionOf(name: EventFunctionName): string {
  return name === 'notify' ? `dropforge-${SUBSCRIPTION_PREFIX}${CHANNEL}` : `dropforge-${topicOf(name)}`;
}

/** Publishes a tick; an error is ignored, because it means that the cloud is being stopped. */
async function tick(publish: (topic: string, data: object) => Promise<unknown>): Promise<void> {
  await Promise.allSettled([publish('tick', { type: 'TICK' }), publish('teardown', { type: 'SWEEP' })]);
}

/** Publishes what Google's services would: Cloud Storage's notifications, and the log sink's entries for ended VMs. */
function startServicesOfGoogle({ ports, logger }: EmbeddedServers, { functions, resources }: Running): void {
  const { projectId, queue, clock } = ports;
  const subscriptions = TOPICS_OF_GOOGLE.map(
    (topic): Subscription => ({
      topic,
      url: `${functions.urlOf(topic === 'uploads' ? 'on-upload' : 'on-interruption')}/projects/${projectId}/topics/dropforge-${topic}`,
      projectId,
      deliveriesMax: DELIVERIES_MAX,
      concurrencyMax: 4,
    }),
  );
  const dispatcher = createPushDispatcher(queue, subscriptions, { clock, logger });
  dispatcher.start();
  resources.defer(() => dispatcher.stop());
}
