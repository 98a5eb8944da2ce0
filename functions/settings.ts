import * as z from 'zod';
import { agentRefOf } from '#shared/protocol/agent-ref.ts';
import { isBucketName } from '#shared/protocol/gs-uri.ts';
import { internetAccessSchema } from '#shared/protocol/internet-access.ts';
import { jobRightsSchema } from '#shared/protocol/job-rights.ts';
import { notificationChannelsSchema } from '#shared/protocol/notification-channels.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';
import { registriesSchema } from '#shared/protocol/registries.ts';

const REGION_PATTERN = /^[a-z]+-[a-z]+\d+$/;
const ZONES_PATTERN = /^[a-z]+-[a-z]+\d+(-[a-z])?(,[a-z]+-[a-z]+\d+(-[a-z])?)*$/;
const BOOLEAN = z.enum(['true', 'false']).transform((text) => text === 'true');
const HOST_PATTERN = /^(https?:\/\/)?[\w.-]+:\d{1,5}\/?$/;

/**
 * By runtime version: what its VMs boot from, the architecture of their processors and, if known, its Python version
 * (`3.10`); or the runtime that replaces it, with a note on the differences.
 */
const runtimeImagesSchema = z.record(
  z.string().min(1),
  z
    .object({
      machineImages: z.array(z.string().min(1)).max(20).default([]),
      image: z.string().min(1).optional(),
      pythonVersion: z
        .string()
        .regex(/^\d+\.\d+$/)
        .optional(),
      gpus: z.array(z.string().min(1)).max(50).optional(),
      architecture: z.enum(['X86_64', 'ARM64']).default('X86_64'),
      runtime: z.string().min(1).optional(),
      note: z.string().optional(),
    })
    .refine(({ machineImages, image, runtime }) => machineImages.length > 0 || (image ?? runtime) !== undefined),
);

/** An object, `{}` by default. */
const jsonOf = <Schema extends z.ZodType>(schema: Schema) => z.string().default('{}').transform(readJson).pipe(schema);

/**
 * Every environment variable that deployed functions read: its schema, and its meaning as the description. Values are
 * texts: comma-separated lists, and JSON where a value has more structure.
 */
export const SETTINGS = {
  PROJECT_ID: z
    .string()
    .regex(/^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/)
    .describe('the id of the Google Cloud project'),
  RELEASE: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional()
    .describe("the SHA-256 of the function's archive, which errors name as the version"),
  FIRESTORE_DATABASE: z
    .string()
    .regex(/^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$/)
    .describe('the id of the Firestore database that holds the jobs'),
  UPLOAD_BUCKET: z.string().refine(isBucketName).describe('the name of the bucket whose uploads are submissions'),
  JOBS_BUCKET: z.string().refine(isBucketName).describe('the name of the bucket for jobs without a jobDir'),
  AGENT_URI: z
    .string()
    .transform(readAgentUri)
    .describe('the object of the VMs’ agent, named after its SHA-256: gs://BUCKET/agent/SHA256.pyz'),
  CACHE_BUCKET: z
    .string()
    .refine(isBucketName)
    .optional()
    .describe('the name of the bucket for installed packages; without it, VMs install them at every start'),
  REGION_DEFAULT: z.string().regex(REGION_PATTERN).describe('the region of jobs without one'),
  RUNTIME_VERSION_DEFAULT: z.string().min(1).describe('the runtime version of jobs without one'),
  ZONES: z
    .string()
    .regex(ZONES_PATTERN)
    .transform((text) => text.split(','))
    .describe('the zones to use, comma-separated; a region stands for all of its zones'),
  SUBNETWORK: z
    .string()
    .regex(/^projects\/[^/]+\/regions\/[^/]+\/subnetworks\/[^/]+$/)
    .describe('the subnetwork of VMs: projects/P/regions/{region}/subnetworks/S'),
  SECURE_BOOT: BOOLEAN.describe('whether VMs boot with Secure Boot, which rejects unsigned drivers: true or false'),
  DISK_KMS_KEY: z
    .string()
    .regex(/^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+$/)
    .optional()
    .describe(
      'the Cloud KMS key of VMs’ disks: projects/P/locations/L/keyRings/R/cryptoKeys/K; without it, a Google-managed key',
    ),
  VM_SERVICE_ACCOUNT: z.email().describe('the e-mail address of the VMs’ service account'),
  HEARTBEAT_URL: z.url({ protocol: /^https?$/ }).describe('the URL to which VMs send heartbeats'),
  HEARTBEAT_AUDIENCE: z.string().min(1).describe('the audience of the VMs’ identity tokens'),
  RUNTIME_IMAGES: z
    .string()
    .transform(readJson)
    .pipe(runtimeImagesSchema)
    .describe(
      'JSON of runtime versions, each with its machineImages, image, architecture, pythonVersion and gpus, or the runtime that replaces it',
    ),
  PAGE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('the address of the page, for links in messages; without it, messages have no link'),
  NOTIFICATION_CHANNELS: jsonOf(notificationChannelsSchema).describe(
    'JSON of notification channels: kind, names of secrets, states, labels and trials of each',
  ),
  JOB_RIGHTS: jsonOf(jobRightsSchema).describe(
    'JSON of the service accounts, networks and encryption keys that jobs may name',
  ),
  REGISTRIES: jsonOf(registriesSchema).describe(
    'JSON of logins to container registries by host: the name of a secret, and tokenHost',
  ),
  CONTAINERS_AS_ROOT: BOOLEAN.default(true).describe(
    'whether programs may run as root in their containers: true or false',
  ),
  API_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('the URL of the HTTP API, which is the audience of its callers’ identity tokens'),
  IAP_AUDIENCE: z
    .string()
    .min(1)
    .optional()
    .describe('the audience of Identity-Aware Proxy’s assertions; without it, they are ignored'),
  KEEP_ON_FAILURE_SECONDS_MAX: z.coerce
    .number()
    .int()
    .min(0)
    .max(86_400)
    .default(3_600)
    .describe('seconds for which a job may keep the VM of a failed program; 0 forbids it'),
  KEEP_ON_FAILURE_COST_USD_MAX: z.coerce
    .number()
    .min(0)
    .default(20)
    .describe('US dollars that a VM which is kept after a failure may cost'),
  SHELL_ACCESS: BOOLEAN.default(false).describe('whether users can open a shell in VMs: true or false'),
  INTERNET_ACCESS: jsonOf(internetAccessSchema).describe(
    'JSON of the regions whose VMs reach hosts outside of Google, by network, and of remoteRepositories',
  ),
  DATA_BUCKETS: z
    .string()
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .pipe(z.array(z.string().refine(isBucketName)))
    .default([])
    .describe('the names of buckets with data that all VMs may access, comma-separated'),
  VMS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(100)
    .describe('how many VMs may exist at a time, those that are being created or deleted included'),
  USD_PER_HOUR_MAX: z.coerce
    .number()
    .positive()
    .optional()
    .describe('US dollars an hour that they may cost together at list price; without it, only their number is limited'),
  FIRESTORE_EMULATOR_HOST: z.string().regex(HOST_PATTERN).optional().describe('host:port of a Firestore emulator'),
  PUBSUB_EMULATOR_HOST: z.string().regex(HOST_PATTERN).optional().describe('host:port of a Pub/Sub emulator'),
  STORAGE_EMULATOR_HOST: z.string().regex(HOST_PATTERN).optional().describe('the URL of a Cloud Storage emulator'),
  COMPUTE_ENDPOINT: z.url().optional().describe('the URL of a Compute Engine emulator'),
  LOGGING_ENDPOINT: z.url().optional().describe('the URL of a Cloud Logging emulator'),
  SECRET_MANAGER_ENDPOINT: z.url().optional().describe('the URL of a Secret Manager emulator'),
  IDENTITY_CERTS_URL: z
    .url()
    .optional()
    .describe('the URL of the public keys of identity tokens, in place of Google’s'),
} as const satisfies Readonly<Record<string, z.ZodType>>;

export type SettingName = keyof typeof SETTINGS;

/** Endpoints of emulators, for tests; no deployment sets these. */
export const ENDPOINT_SETTINGS = [
  'FIRESTORE_EMULATOR_HOST',
  'PUBSUB_EMULATOR_HOST',
  'STORAGE_EMULATOR_HOST',
  'COMPUTE_ENDPOINT',
  'LOGGING_ENDPOINT',
  'SECRET_MANAGER_ENDPOINT',
  'IDENTITY_CERTS_URL',
] as const satisfies readonly SettingName[];

export type Settings<Name extends SettingName> = { readonly [Key in Name]: z.infer<(typeof SETTINGS)[Key]> };

function readJson(text: string, context: z.RefinementCtx): unknown {
  const value = parseJson(text);
  if (value === undefined) {
    context.addIssue({ code: 'custom', message: 'is not valid JSON' });
    return z.NEVER;
  }
  return value;
}

function readAgentUri(uri: string, context: z.RefinementCtx) {
  const agent = agentRefOf(uri);
  if (agent === undefined) {
    context.addIssue({ code: 'custom', message: 'is not gs://BUCKET/…/SHA256.pyz' });
    return z.NEVER;
  }
  return agent;
}
