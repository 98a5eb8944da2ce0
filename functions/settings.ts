import { z } from 'zod';
import type { FunctionName } from '#functions/index.ts';

const BUCKET_PATTERN = /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/;
const REGION_PATTERN = /^[a-z]+-[a-z]+\d+$/;
const ZONES_PATTERN = /^[a-z]+-[a-z]+\d+(-[a-z])?(,[a-z]+-[a-z]+\d+(-[a-z])?)*$/;
const HOST_PATTERN = /^(https?:\/\/)?[\w.-]+:\d{1,5}\/?$/;

/**
 * By runtime version: what its VMs boot from, and the Python that is on it (`3.10`), where that is known; or the runtime
 * that stands in for it, with what is different there.
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
      runtime: z.string().min(1).optional(),
      note: z.string().optional(),
    })
    .refine(({ machineImages, image, runtime }) => machineImages.length > 0 || (image ?? runtime) !== undefined),
);

/**
 * Every environment variable that deployed functions read: what it must be, and, as its description, what it means. The
 * values are texts; lists are parted by commas, and what has more form than that is JSON.
 */
export const SETTINGS = {
  PROJECT_ID: z
    .string()
    .regex(/^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/)
    .describe('the id of the Google Cloud project'),
  FIRESTORE_DATABASE: z
    .string()
    .regex(/^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$/)
    .describe('the id of the Firestore database that holds the jobs'),
  UPLOAD_BUCKET: z.string().regex(BUCKET_PATTERN).describe('the name of the bucket whose uploads are submissions'),
  JOBS_BUCKET: z.string().regex(BUCKET_PATTERN).describe('the name of the bucket for jobs that name no jobDir'),
  REGION_DEFAULT: z.string().regex(REGION_PATTERN).describe('the region of jobs that name none'),
  RUNTIME_VERSION_DEFAULT: z.string().min(1).describe('the runtime version of jobs that name none'),
  ZONES: z
    .string()
    .regex(ZONES_PATTERN)
    .transform((text) => text.split(','))
    .describe('the zones that are used, parted by commas; a region stands for all of its zones'),
  SUBNETWORK: z
    .string()
    .regex(/^projects\/[^/]+\/regions\/[^/]+\/subnetworks\/[^/]+$/)
    .describe('the subnetwork of VMs: projects/P/regions/{region}/subnetworks/S'),
  SECURE_BOOT: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .describe('whether VMs refuse drivers that are not signed: true or false'),
  DISK_KMS_KEY: z
    .string()
    .regex(/^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+$/)
    .optional()
    .describe('the key of VMs’ disks: projects/P/locations/L/keyRings/R/cryptoKeys/K; without it, Google’s own'),
  VM_SERVICE_ACCOUNT: z.email().describe('the e-mail address of the service account that VMs have'),
  HEARTBEAT_URL: z.url({ protocol: /^https?$/ }).describe('the address to which VMs send heartbeats'),
  HEARTBEAT_AUDIENCE: z.string().min(1).describe('the audience of the identity tokens that VMs send'),
  RUNTIME_IMAGES: z
    .string()
    .transform(readJson)
    .pipe(runtimeImagesSchema)
    .describe(
      'JSON of runtime versions, each with its machineImages, image and pythonVersion, or the runtime in its place',
    ),
  FIRESTORE_EMULATOR_HOST: z.string().regex(HOST_PATTERN).optional().describe('host:port in place of Firestore'),
  PUBSUB_EMULATOR_HOST: z.string().regex(HOST_PATTERN).optional().describe('host:port in place of Pub/Sub'),
  STORAGE_EMULATOR_HOST: z.string().regex(HOST_PATTERN).optional().describe('the address in place of Cloud Storage'),
  COMPUTE_ENDPOINT: z.url().optional().describe('the address in place of Compute Engine'),
  LOGGING_ENDPOINT: z.url().optional().describe('the address in place of Cloud Logging'),
  SECRET_MANAGER_ENDPOINT: z.url().optional().describe('the address in place of Secret Manager'),
  IDENTITY_CERTS_URL: z.url().optional().describe('the address in place of Google’s keys for identity tokens'),
} as const satisfies Readonly<Record<string, z.ZodType>>;

export type SettingName = keyof typeof SETTINGS;

/** Where another Google Cloud is, for tests; no deployment sets these. */
export const ENDPOINT_SETTINGS = [
  'FIRESTORE_EMULATOR_HOST',
  'PUBSUB_EMULATOR_HOST',
  'STORAGE_EMULATOR_HOST',
  'COMPUTE_ENDPOINT',
  'LOGGING_ENDPOINT',
  'SECRET_MANAGER_ENDPOINT',
  'IDENTITY_CERTS_URL',
] as const satisfies readonly SettingName[];

const STATE = ['PROJECT_ID', 'FIRESTORE_DATABASE', 'FIRESTORE_EMULATOR_HOST'] as const;
const EVENTS = [...STATE, 'PUBSUB_EMULATOR_HOST'] as const;
const INTAKE = [
  ...EVENTS,
  'STORAGE_EMULATOR_HOST',
  'UPLOAD_BUCKET',
  'JOBS_BUCKET',
  'REGION_DEFAULT',
  'RUNTIME_VERSION_DEFAULT',
  'RUNTIME_IMAGES',
  'ZONES',
] as const;

/** What each function asks for, and nothing else: what it is not given, it cannot touch. */
export const SETTINGS_OF = {
  'on-upload': INTAKE,
  'on-submit': INTAKE,
  'on-dead-letter': INTAKE,
  'on-control': EVENTS,
  'on-interruption': EVENTS,
  watch: EVENTS,
  report: [...STATE, 'STORAGE_EMULATOR_HOST'],
  provision: [
    ...EVENTS,
    'COMPUTE_ENDPOINT',
    // For the VMs that it makes.
    'STORAGE_EMULATOR_HOST',
    'LOGGING_ENDPOINT',
    'SECRET_MANAGER_ENDPOINT',
    'SUBNETWORK',
    'VM_SERVICE_ACCOUNT',
    'HEARTBEAT_URL',
    'HEARTBEAT_AUDIENCE',
    'RUNTIME_IMAGES',
    'SECURE_BOOT',
    'DISK_KMS_KEY',
  ],
  teardown: [...EVENTS, 'COMPUTE_ENDPOINT'],
  heartbeat: [...EVENTS, 'VM_SERVICE_ACCOUNT', 'HEARTBEAT_AUDIENCE', 'IDENTITY_CERTS_URL'],
  api: [...EVENTS, 'LOGGING_ENDPOINT'],
} as const satisfies Readonly<Record<FunctionName, readonly SettingName[]>>;

export type Settings<Name extends SettingName> = { readonly [Key in Name]: z.infer<(typeof SETTINGS)[Key]> };
export type SettingsOf<Name extends FunctionName> = Settings<(typeof SETTINGS_OF)[Name][number]>;

export type SettingsReading<Name extends FunctionName> =
  | { readonly settings: SettingsOf<Name> }
  /** Everything that is missing or wrong, in one text. It repeats no value: one that is in the wrong place may be a secret. */
  | { readonly problem: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of one function from the environment. A variable that is empty is one that is not set. */
export function readSettings<Name extends FunctionName>(name: Name, environment: Environment): SettingsReading<Name> {
  const names: readonly SettingName[] = SETTINGS_OF[name];
  const given = names.map((setting) => [setting, environment[setting] || undefined] as const);
  const read = given.map(([setting, text]) => [setting, SETTINGS[setting].safeParse(text)] as const);
  const problems = read.flatMap(([setting, { success }]) =>
    success
      ? []
      : [`${setting} ${environment[setting] ? 'is wrong' : 'is missing'}: ${SETTINGS[setting].description}.`],
  );
  if (problems.length > 0) {
    const intro = `The function ${name} does not start: of its settings, ${problems.length} cannot be used.`;
    return { problem: [intro, ...problems, 'Set them in its environment; terraform apply does.'].join('\n') };
  }
  // Each value is what its own schema made of it.
  return { settings: Object.fromEntries(read.map(([setting, { data }]) => [setting, data])) as SettingsOf<Name> };
}

function readJson(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'is no JSON' });
    return z.NEVER;
  }
}
