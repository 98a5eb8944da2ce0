import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { type PackedAgent, packAgent } from '#infra/vm-agent/pack-agent.ts';
import { withDefaults } from '#shared/domain/job-spec.ts';
import { type Heartbeat, type HeartbeatAnswer, heartbeatSchema } from '#shared/protocol/heartbeat.ts';
import { type VmConfig, vmConfigSchema } from '#shared/protocol/vm-config.ts';
import { vmHealthOf } from '#shared/use-cases/provision/vm-health-of.ts';
import { crc32cOf, createBucketServer } from './vm-agent-bucket.ts';
import type { Package } from './vm-agent-package.ts';

export const BUCKET = 'jobs';
export const JOB_DIR = 'digits';
export const SOURCES = 'sources';

export type LogEntry = {
  readonly insertId: string;
  readonly severity: string;
  readonly textPayload?: string;
  readonly jsonPayload?: Record<string, unknown>;
  readonly labels: { readonly stream: string };
};

/** The agent's bytes are the same for each cloud. */
let packed: Promise<PackedAgent> | undefined;

/** Starts fakes of all servers that a VM uses, on one local port; they record requests and inject faults. */
export async function startCloud() {
  const bucket = createBucketServer([BUCKET, SOURCES]);
  const heartbeats: Heartbeat[] = [];
  const logEntries: LogEntry[] = [];
  const attributes: Record<string, string> = {};
  const waiting = new Set<() => void>();
  const cloud = {
    ...bucket,
    heartbeats,
    logEntries,
    attributes,
    isPreempted: false,
    /** When host maintenance terminates the VM, in milliseconds since the epoch. */
    maintenanceAt: null as number | null,
    answerHeartbeat: (_heartbeat: Heartbeat): HeartbeatAnswer | Response => ({ command: 'CONTINUE', reason: null }),
    /** Returns a response in place of the server, or undefined to let the request through. */
    intercept: (_request: Request): Response | undefined => undefined,
    url: '',
    preempt() {
      cloud.isPreempted = true;
      for (const answer of waiting) {
        answer();
      }
    },
    /** Gives notice of host maintenance in so many seconds. */
    maintain(seconds: number) {
      cloud.maintenanceAt = Date.now() + seconds * 1_000;
      for (const answer of waiting) {
        answer();
      }
    },
    async close() {
      cloud.preempt();
      server.close();
      if ('closeAllConnections' in server) {
        server.closeAllConnections();
      }
      await once(server, 'close');
      bucket.closeBuckets();
    },
  };

  const metadata = new Hono()
    .use(async (c, next) => {
      const isAllowed = c.req.header('metadata-flavor') === 'Google';
      return isAllowed ? next() : c.text('Metadata-Flavor is missing.', 403);
    })
    .get('/attributes/:key', (c) => {
      const value = attributes[c.req.param('key')];
      return value === undefined ? c.notFound() : c.text(value);
    })
    .get('/id', (c) => c.text('4570452845155348778'))
    .get('/name', (c) => c.text('df-digits-a1-master-0'))
    .get('/zone', (c) => c.text('projects/123/zones/us-central1-c'))
    .get('/service-accounts/default/email', (c) => c.text('vm@dropforge-test.iam.gserviceaccount.com'))
    .get('/service-accounts/default/token', (c) =>
      c.json({ access_token: 'access', expires_in: 3600, token_type: 'Bearer' }),
    )
    .get('/service-accounts/default/identity', (c) => {
      const claims = { aud: c.req.query('audience'), exp: Math.floor(Date.now() / 1000) + 3600 };
      return c.text(`e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`);
    })
    .get('/maintenance-event', async (c) => {
      const value = () => (cloud.maintenanceAt === null ? 'NONE' : 'TERMINATE_ON_HOST_MAINTENANCE');
      if (c.req.query('last_etag') === value()) {
        await new Promise<void>((answer) => {
          waiting.add(answer);
          setTimeout(answer, Number(c.req.query('timeout_sec')) * 1_000).unref();
        });
      }
      return c.text(value(), 200, { etag: value() });
    })
    .get('/upcoming-maintenance', (c) =>
      cloud.maintenanceAt === null
        ? c.notFound()
        : c.json({ maintenanceStatus: 'PENDING', windowStartTime: new Date(cloud.maintenanceAt).toISOString() }),
    )
    .get('/preempted', async (c) => {
      const etag = () => (cloud.isPreempted ? 'late' : 'early');
      if (c.req.query('wait_for_change') === 'true' && c.req.query('last_etag') === etag()) {
        await new Promise<void>((answer) => waiting.add(answer));
      }
      return c.text(cloud.isPreempted ? 'TRUE' : 'FALSE', 200, { etag: etag() });
    });

  const app = new Hono()
    .use(async (c, next) => {
      const isFree =
        /^\/(computeMetadata|simple)\//.test(c.req.path) || c.req.header('authorization')?.startsWith('Bearer ');
      return isFree ? (cloud.intercept(c.req.raw) ?? next()) : c.text('No token.', 401);
    })
    .route('/computeMetadata/v1/instance', metadata)
    .post('/heartbeat', async (c) => {
      const heartbeat = heartbeatSchema.parse(await c.req.json());
      heartbeats.push(heartbeat);
      const answer = cloud.answerHeartbeat(heartbeat);
      return answer instanceof Response ? answer : c.json(answer);
    })
    .post('/v2/entries:write', async (c) => {
      // Google's parser rejects NaN, and with it the whole request.
      const body = await c.req.json<{ entries: LogEntry[] }>().catch(() => undefined);
      logEntries.push(...(body?.entries ?? []));
      return body === undefined ? c.json({ error: { code: 400, message: 'Invalid JSON payload.' } }, 400) : c.json({});
    })
    .all('*', (c) => bucket.answerStorage(c.req.raw));
  const server = createAdaptorServer({ fetch: app.fetch });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cloud.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  packed ??= packAgent();
  storeAgent(cloud, Buffer.from((await packed).bytes));
  return cloud;
}

export type Cloud = Awaited<ReturnType<typeof startCloud>>;

/** Puts an agent into the bucket `sources`, and its reference into the metadata server. Returns the object's name. */
export function storeAgent(cloud: Pick<Cloud, 'put' | 'attributes'>, body: Buffer): string {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const name = `agent/${sha256}.pyz`;
  cloud.put(SOURCES, name, { body });
  cloud.attributes['dropforge-agent'] = JSON.stringify({ uri: `gs://${SOURCES}/${name}`, sha256 });
  return name;
}

/** Puts the packages into the bucket, and the VM's configuration into the metadata server. */
export function configure(
  cloud: Cloud,
  packages: readonly Package[],
  change: (config: VmConfig) => Partial<VmConfig> = () => ({}),
): VmConfig {
  const master = { role: 'master', index: 0 } as const;
  const { environmentCache: _, ...options } = withDefaults({});
  const config = vmConfigSchema.parse({
    spec: {
      projectId: 'dropforge-test',
      jobId: 'digits_1',
      attempt: 1,
      ...master,
      module: 'trainer.task',
      command: [],
      args: ['--epochs', '2'],
      passesJobDir: true,
      environment: {},
      jobDir: `gs://${BUCKET}/${JOB_DIR}`,
      cluster: { chief: ['df-digits-a1-master-0:2222'] },
      trainingInput: { scale_tier: 'BASIC', python_module: 'trainer.task' },
      clusterSpec: null,
      trial: null,
    },
    endpoints: {
      heartbeatUrl: `${cloud.url}/heartbeat`,
      heartbeatAudience: 'https://dropforge.example/heartbeat',
      storageUrl: cloud.url,
      loggingUrl: cloud.url,
      secretManagerUrl: cloud.url,
    },
    secrets: {},
    packages: packages.map((packed) => store(cloud, packed)),
    container: null,
    options,
    replicaCount: 1,
    peers: null,
    gpuCount: 0,
    limits: {
      maxRunningSeconds: 60,
      setupSeconds: 60,
      stopGraceSeconds: 5,
      finalSaveSeconds: 30,
      earlierSaveSeconds: 0,
      preemptionNoticeSeconds: 10,
      controlPlaneTimeoutSeconds: 30,
      uploadSeconds: 30,
      keepOnFailureSeconds: 0,
      diskBytesMax: 200_000_000,
      diskSetting: 'bootDiskSizeGb',
      logBytesMax: 2_000_000,
    },
    intervals: { heartbeatSeconds: 0.3, syncSeconds: 0.2, logSeconds: 0.2 },
    cachedEnvironments: null,
    notes: [],
    health: vmHealthOf({}, master),
    repeatedArguments: [],
  });
  const changed = vmConfigSchema.parse({ ...config, ...change(config) });
  cloud.attributes['dropforge-config'] = JSON.stringify(changed);
  return changed;
}

function store(cloud: Cloud, { name, body, layout }: Package) {
  const { generation } = cloud.put(BUCKET, `${JOB_DIR}/packages/ab12/${name}`, { body });
  const uri = `gs://${BUCKET}/${JOB_DIR}/packages/ab12/${name}`;
  return { uri, generation, crc32c: crc32cOf(body), sizeBytes: body.length, layout };
}

/** Polls until the condition holds; limited by the test's timeout only. */
export async function until(condition: () => boolean, child: ChildProcess): Promise<void> {
  while (!condition()) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error('The VM ended before the condition was met.');
    }
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
