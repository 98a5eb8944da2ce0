import * as z from 'zod';
import { healthPolicySchema } from '#shared/domain/health.ts';
import { notifySchema } from '#shared/domain/notification.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { algorithmSchema, type Study } from '#shared/domain/study.ts';

const texts = z.array(z.string());
const textMap = z.record(z.string(), z.string());

/** A secret version in Secret Manager. */
const secretReferenceSchema = z.object({
  /** Project id or number; null for the deployment's project. */
  project: z.string().nullable(),
  secret: z.string(),
  /** A number, an alias, or `latest`. */
  version: z.string(),
});
export type SecretReference = Stated<typeof secretReferenceSchema>;

/** The Compute Engine provisioning models that job files can request. */
export const provisioningModelSchema = z.enum(['STANDARD', 'SPOT', 'FLEX_START']);
export type ProvisioningModel = Stated<typeof provisioningModelSchema>;

export const BOOT_DISK_TYPES = ['pd-ssd', 'pd-standard', 'pd-balanced', 'hyperdisk-balanced'] as const;
export type BootDiskType = (typeof BOOT_DISK_TYPES)[number];

/**
 * Which reservations a group may consume (Compute Engine docs, "Consume reservations"); names are full resource names.
 */
const reservationSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['ANY', 'NONE']) }),
  z.object({ kind: z.literal('SPECIFIC'), names: texts }),
]);
export type Reservation = Stated<typeof reservationSchema>;

const pythonProgramSchema = z.object({
  kind: z.literal('PYTHON'),
  /** `gs://` URIs of source distributions and wheels, installed in this order. */
  packageUris: texts,
  /** A module of the packages or of their requirements; null for a command. */
  module: z.string().nullable(),
  /** Runs in the environment and the folder of the packages; absent for a module. */
  command: texts.optional(),
  args: texts,
  environment: textMap.default({}),
});
export type PythonProgram = Stated<typeof pythonProgramSchema>;

/** An image for the platform of the VMs, with what its configuration says (OCI Image Specification, "config"). */
const pinnedImageSchema = z.object({
  /** `host/repository@sha256:…` */
  uri: z.string(),
  /** The size of the download: all layers, compressed. */
  sizeBytes: z.int().min(0),
  /** `linux/amd64`; missing in jobs that were stored without it. */
  platform: z.string().optional(),
  entrypoint: texts,
  cmd: texts,
  /** User name or id, with or without group; empty for root. */
  user: z.string(),
  /** Empty for `/`. */
  workingDir: z.string(),
});
export type PinnedImage = Stated<typeof pinnedImageSchema>;

const containerProgramSchema = z.object({
  kind: z.literal('CONTAINER'),
  /** The image as requested: a tag may name another image at any time. */
  imageUri: z.string(),
  /** The image that intake found in the registry, which every attempt runs; null before that. */
  image: pinnedImageSchema.nullable().default(null),
  /** Replaces the image's entry point; empty keeps it. */
  command: texts,
  args: texts,
  environment: textMap.default({}),
  /** `gs://` URIs of packages whose modules the container's Python finds; none for most containers. */
  packageUris: texts.default([]),
  /** A module of the packages that the image's Python runs; null for the command or the image's entry point. */
  module: z.string().nullable().default(null),
});
export type ContainerProgram = Stated<typeof containerProgramSchema>;

const programSchema = z.discriminatedUnion('kind', [pythonProgramSchema, containerProgramSchema]);
export type Program = Stated<typeof programSchema>;

const replicaGroupSchema = z.object({
  role: z.enum(ROLES),
  count: z.int().min(1),
  machineType: z.string(),
  accelerator: z.object({ type: z.string(), count: z.int() }).nullable(),
  bootDiskGib: z.int(),
  bootDiskType: z.enum(BOOT_DISK_TYPES),
  reservation: reservationSchema.nullable().default(null),
  /** The program that this group runs instead of the job's program; null for the job's program. */
  program: programSchema.nullable().default(null),
  /** That of the group's VMs instead of the job's; null for the job's. None beside FLEX_START. */
  provisioningModel: provisioningModelSchema.nullable().default(null),
});
export type ReplicaGroup = Stated<typeof replicaGroupSchema>;

/** The provisioning model of a group's VMs in a job, or in a placement, that has `model`. */
export function provisioningModelOf(
  group: Partial<Pick<ReplicaGroup, 'provisioningModel'>>,
  model: ProvisioningModel,
): ProvisioningModel {
  return group.provisioningModel ?? model;
}

/**
 * Settings that job file, JobSpec and the agent's configuration carry under the same name. Absent options have
 * their default (`withDefaults`).
 */
export const programOptionsSchema = z.object({
  /** Added to the agent's own niceness; 0 by default. */
  nice: z.int().min(0).max(19).optional(),
  /** Whether packages that an earlier job has installed are used; true by default. */
  environmentCache: z.boolean().optional(),
  /** Whether lines that the program prints are read as metrics; by default, only those that surely are. */
  metricsFromOutput: z.boolean().optional(),
  /** Where the program runs: a folder of its package, or an absolute path of its image; empty for the default. */
  workdir: z.string().optional(),
  /** Whether what the program creates or changes below its working directory is an output; true by default. */
  workdirOutputs: z.boolean().optional(),
  /** Which of these files are outputs: patterns of relative paths; all but hidden files and caches by default. */
  outputs: z.array(z.string().min(1)).optional(),
  /** Added to the arguments when the program begins with files of an earlier attempt; none by default. */
  resumeArguments: texts.optional(),
});
export type ProgramOptions = Stated<typeof programOptionsSchema>;

/** The options, with the default of each that the job leaves out. */
export function withDefaults(options: ProgramOptions) {
  const { nice = 0, environmentCache = true, metricsFromOutput = null, workdir = '', workdirOutputs = true } = options;
  const lists = { outputs: [...(options.outputs ?? [])], resumeArguments: [...(options.resumeArguments ?? [])] };
  return { nice, environmentCache, metricsFromOutput, workdir, workdirOutputs, ...lists };
}

const limitsSchema = z.object({
  /**
   * Limit on the time that the job is RUNNING, over all attempts; the job fails when it is exceeded. AI Platform
   * measures it "from when the job enters the RUNNING state" (TrainingInput, Scheduling): waiting for VMs and their
   * setup are QUEUED and PREPARING, and not counted.
   */
  maxRunningMs: z.number(),
  /**
   * Limit from submission until the job first runs: QUEUED and PREPARING (AI Platform, Scheduling); null for no limit.
   */
  maxWaitMs: z.number().nullable(),
  /** How often the program is restarted after a user error. Interruptions do not count. */
  restartsMax: z.int().min(0),
  /** How long the VM of a program that has failed is kept for a look; 0 to delete it at once. */
  keepOnFailureMs: z.int().min(0).default(0),
});
export type JobLimits = Stated<typeof limitsSchema>;

/** The study of a job file; that of a tuning is stored with the tuning, and checked as a whole there. */
const requestedStudySchema = z.custom<Study>(
  (value) => z.object({ metrics: z.array(z.unknown()).min(1), algorithm: algorithmSchema }).safeParse(value).success,
);

/**
 * The job as the user requested it, independent of the job file's dialect. Durations are in milliseconds, sizes in GiB.
 * Fields with a default were added after the first version.
 */
export const jobSpecSchema = z.object({
  jobId: z.string(),
  labels: textMap,
  /** The first group is the master's and has one replica. All groups run in one zone. */
  replicaGroups: z.tuple([replicaGroupSchema], replicaGroupSchema),
  /** The program of every group that has none of its own. */
  program: programSchema,
  region: z.string(),
  provisioningModel: provisioningModelSchema,
  runtimeVersion: z.string(),
  pythonVersion: z.string().nullable(),
  /** `gs://bucket/path` without a trailing slash. */
  jobDir: z.string(),
  /** The service whose environment variables the program gets. */
  service: z.enum(['AI_PLATFORM', 'VERTEX_AI']).default('AI_PLATFORM'),
  /**
   * Whether the program receives its job directory as `--job-dir`: as on AI Platform if the job sets it, and otherwise if
   * the program seems to accept it. Vertex AI does not pass it.
   */
  passesJobDir: z.boolean().default(true),
  limits: limitsSchema,
  programOptions: programOptionsSchema.default({}),
  health: healthPolicySchema.default({}),
  /** Keyed by environment variable. Only VMs read the values, just before the program starts. */
  secrets: z.record(z.string(), secretReferenceSchema).default({}),
  /** E-mail address of the account that the VMs run as; null for the deployment's default. */
  serviceAccount: z.string().nullable().default(null),
  /** `projects/P/global/networks/N`; null for the deployment's default. */
  network: z.string().nullable().default(null),
  /**
   * `projects/P/regions/R/subnetworks/S`. Intake sets that of the network, if the job names only the network; null for
   * the deployment's default.
   */
  subnetwork: z.string().nullable().default(null),
  /**
   * `projects/P/regions/R/networkAttachments/A`, or before intake its last part, for a second interface of each VM; null
   * for one interface.
   */
  networkAttachment: z.string().nullable().default(null),
  /**
   * Cloud KMS key for the disks, `projects/P/locations/L/keyRings/R/cryptoKeys/K`; null for the deployment's, or a
   * Google-managed key.
   */
  kmsKeyName: z.string().nullable().default(null),
  /** Where and when the job notifies; null for what the deployment's channels say. */
  notify: notifySchema.nullable().default(null),
  /** Hyperparameter tuning, which makes the job a study of many trials; null for a single training. */
  study: requestedStudySchema.nullable().default(null),
});
export type JobSpec = Stated<typeof jobSpecSchema>;

/** AI Platform Training's rule (docs, "Managing models and jobs"): a letter, then letters, digits, underscores. */
export const JOB_ID_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;

/** Whether Dropforge identifies VMs by this label key, so that users may not set it. */
export function isReservedLabel(key: string): boolean {
  return key.startsWith('dropforge') || key === 'managed-by';
}

/** Labels that Dropforge adds to a VM, at most: the job id in up to five parts, attempt, role, and owner. */
export const OWN_LABELS_COUNT_MAX = 8;

/** Default of `scheduling.maxRunningTime`: seven days, as on AI Platform. */
export const MAX_RUNNING_MS_DEFAULT = 7 * 24 * 3_600_000;
