import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parse } from 'yaml';
import * as z from 'zod';
import { isQuotaMetric } from '#shared/catalog/quota-demand.ts';
import type { Timeouts } from '#shared/domain/timeouts.ts';
import { jobAccountSchema, jobKeysSchema, jobNetworksSchema } from '#shared/protocol/job-rights.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { registriesSchema } from '#shared/protocol/registries.ts';
import { findReplacements } from '#shared/text/replaced-names.ts';

const seconds = (fallback: number) => z.number().positive().max(86_400).default(fallback);

const zoneSchema = z.object({ name: z.string().regex(/^[a-z]+-[a-z]+\d+-[a-z]$/), vmsMax: z.int().min(0).max(1_000) });

const machineImageSchema = z.object({
  name: z.string().min(1),
  /** The interpreter for VMs of this image: a path, or a name on the PATH. */
  python: z.string().min(1).default('python3'),
});

const quotaSchema = z.strictObject({
  metric: z
    .string()
    .refine(isQuotaMetric, 'not the metric of a known quota, such as CPUS, NVIDIA_T4_GPUS or INSTANCES'),
  family: z.string().optional(),
  /** In all regions together if omitted. */
  region: z.string().optional(),
  limit: z.int().min(0),
});

/** The intervals of agents, reconciler and sweep, and the timeouts of the reconciler, for a laptop. */
const TIMEOUT_DEFAULTS = {
  heartbeatMs: 1_000,
  syncMs: 2_000,
  logMs: 500,
  watchMs: 1_000,
  sweepMs: 5_000,
  leaseMs: 30_000,
  heartbeatDelayMs: 2_000,
  failureHoldMs: 60_000,
  bootMs: 1_800_000,
  pendingMs: 2_000,
  assemblyMs: 600_000,
  provisionAnswerMs: 20_000,
  teardownMs: 2_000,
  keptCheckMs: 2_000,
  maxRunningGraceMs: 30_000,
  /** With the default `deliveriesMax`, a message becomes a dead letter after about 25 s of retries. */
  earlyCancelMs: 20_000,
  suggestionAnswerMs: 20_000,
  trialCheckMs: 20_000,
  trialCancelMs: 5_000,
  coolDownMs: 1_000,
  backoffMsMin: 1_000,
  backoffMsMax: 10_000,
} satisfies Omit<Timeouts, 'controlPlaneTimeoutMs'> & Readonly<Record<string, number>>;

/**
 * The configuration of the embedded cloud: zones and their capacity, machine images, intervals and timeouts. All fields
 * have defaults for a laptop; `--config` names a file of this format (YAML or JSON).
 */
export const embeddedConfigSchema = z.strictObject({
  projectId: z
    .string()
    .regex(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/)
    .default('dropforge-local'),
  /** The region of jobs that specify none. */
  regionDefault: z.string().default('us-central1'),
  runtimeVersionDefault: z.string().default('2.11'),
  /** Concurrent VMs on this machine, regardless of the capacity of the zones. */
  vmsMax: z.int().min(1).max(1_000).default(Math.max(2, availableParallelism())),
  /** The zones with capacity; defaults to every zone of the catalog. */
  zones: z.array(zoneSchema).min(1).optional(),
  /** Quotas as a project of Google Cloud has them; none by default. */
  quotas: z.array(quotaSchema).default([]),
  machineImages: z
    .array(machineImageSchema)
    .min(1)
    .default([{ name: 'dropforge-runtime', python: 'python3' }]),
  /** Bytes that a job may write to its VM's disk, whatever boot disk size it requests: the disk is this machine's. */
  diskBytesMax: z
    .int()
    .positive()
    .default(50 * 2 ** 30),
  /** Bytes of this machine's disk that stay free for the control plane: below, the largest program is ended. */
  diskReserveBytes: z
    .int()
    .min(0)
    .default(512 * 2 ** 20),
  /** Bytes of installed packages that are kept for later starts; the oldest are deleted first. */
  cacheBytesMax: z
    .int()
    .positive()
    .default(10 * 2 ** 30),
  logBytesMax: z
    .int()
    .positive()
    .default(64 * 2 ** 20),
  /** Delivery attempts before a message becomes a dead letter; Pub/Sub's minimum is 5. */
  deliveriesMax: z.int().min(1).max(100).default(8),
  /** Whether anonymous reads of buckets that the embedded cloud does not have are sent to Google. */
  publicBucketReads: z.boolean().default(true),
  /** Channels of notifications, by name; their addresses are secrets of the embedded Secret Manager. */
  notifications: notificationChannelsSchema.default({}),
  /** The service accounts that jobs may name; VMs have only the name of the account, since no access is checked here. */
  jobAccounts: z.array(jobAccountSchema).max(100).default([]),
  /** The networks that jobs may name, and the encryption keys; both have no effect here. */
  jobNetworks: jobNetworksSchema.default({}),
  jobKeys: jobKeysSchema.default([]),
  /** Logins to registries of container images, by host; their values are secrets of the embedded Secret Manager. */
  registries: registriesSchema.default({}),
  /** Whether programs may run as root in their containers. */
  containers: z.strictObject({ allowRoot: z.boolean().default(true) }).default({ allowRoot: true }),
  /** How long a job may keep the VM of a failed program; 0 forbids it. */
  keepOnFailureSecondsMax: z.number().min(0).max(86_400).default(3_600),
  /** The limit of its cost at the list price, as on Google Cloud: nothing is billed here. */
  keepOnFailureCostUsdMax: z.number().min(0).default(20),
  stopGraceSeconds: seconds(10),
  controlPlaneTimeoutSeconds: seconds(300),
  preemptionNoticeSeconds: seconds(5),
  /** Other intervals and timeouts than the default ones, for tests. */
  timeouts: z
    .partialRecord(
      z.enum(Object.keys(TIMEOUT_DEFAULTS) as (keyof typeof TIMEOUT_DEFAULTS)[]),
      z.number().positive().max(86_400_000),
    )
    .prefault({})
    .transform((given): typeof TIMEOUT_DEFAULTS => ({ ...TIMEOUT_DEFAULTS, ...given })),
});

export type EmbeddedConfig = z.infer<typeof embeddedConfigSchema>;
export type EmbeddedConfigInput = z.input<typeof embeddedConfigSchema>;

export async function readEmbeddedConfig(path: string | undefined): Promise<EmbeddedConfig> {
  return path === undefined
    ? parseEmbeddedConfig({}, 'the configuration')
    : parseEmbeddedConfig(await readYaml(path), path);
}

async function readYaml(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8');
  try {
    return parse(text) ?? {};
  } catch (error) {
    throw new Error(`${path} is not valid YAML: ${error instanceof Error ? error.message : error}`);
  }
}

/** Parses a configuration; throws an error that names its source and the invalid fields. */
export function parseEmbeddedConfig(given: unknown, source: string): EmbeddedConfig {
  const parsed = embeddedConfigSchema.safeParse(given);
  if (!parsed.success) {
    const unknown = parsed.error.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
    const hints = unknown.flatMap((key) => findReplacements(`up --config ${key}`)[0] ?? findTimeout(key) ?? []);
    throw new Error([`${source} is not valid:`, z.prettifyError(parsed.error), ...hints].join('\n'));
  }
  return parsed.data;
}

/** Names the timeout that replaces a key of earlier versions, which had each in seconds; undefined for other keys. */
function findTimeout(key: string): string | undefined {
  const name = key.replace('Seconds', 'Ms');
  return Object.hasOwn(TIMEOUT_DEFAULTS, name) ? `Write \`timeouts: {${name}: …}\`, in milliseconds.` : undefined;
}
