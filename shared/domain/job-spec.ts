import type { HealthPolicy } from '#shared/domain/health.ts';
import type { NotifySpec } from '#shared/domain/notification.ts';
import type { Study } from '#shared/domain/study.ts';

/** What the user asked for, independent of the job file's dialect. Durations are in milliseconds, sizes in GiB. */
export type JobSpec = {
  readonly jobId: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The first group is the master's and has one replica. All groups run in one zone. */
  readonly replicaGroups: readonly [ReplicaGroup, ...ReplicaGroup[]];
  /** What every group runs that has no program of its own. */
  readonly program: Program;
  readonly region: string;
  readonly provisioningModel: ProvisioningModel;
  readonly runtimeVersion: string;
  readonly pythonVersion: string | null;
  /** `gs://bucket/path` without a trailing slash. */
  readonly jobDir: string;
  /** The service whose environment variables the program gets. */
  readonly service: 'AI_PLATFORM' | 'VERTEX_AI';
  /**
   * Whether the program receives its job directory as `--job-dir`: as on AI Platform if the job sets it, and otherwise if
   * the program seems to accept it. Vertex AI does not pass it.
   */
  readonly passesJobDir: boolean;
  readonly programOptions: ProgramOptions;
  readonly health: HealthPolicy;
  readonly limits: JobLimits;
  /** Keyed by environment variable. Only VMs read the values, just before the program starts. */
  readonly secrets: Readonly<Record<string, SecretReference>>;
  /** E-mail address of the account that the VMs run as; null for the deployment's default. */
  readonly serviceAccount: string | null;
  /** `projects/P/global/networks/N`; null for the deployment's default. */
  readonly network: string | null;
  /**
   * `projects/P/regions/R/subnetworks/S`. Intake sets that of the network, if the job names only the network; null for
   * the deployment's default.
   */
  readonly subnetwork: string | null;
  /**
   * `projects/P/regions/R/networkAttachments/A`, or before intake its last part, for a second interface of each VM; null
   * for one interface.
   */
  readonly networkAttachment: string | null;
  /**
   * Cloud KMS key for the disks, `projects/P/locations/L/keyRings/R/cryptoKeys/K`; null for the deployment's, or a
   * Google-managed key.
   */
  readonly kmsKeyName: string | null;
  /** Where and when the job notifies; null for what the deployment's channels say. */
  readonly notify: NotifySpec | null;
  /** Hyperparameter tuning, which makes the job a study of many trials; null for a single training. */
  readonly study: Study | null;
};

/** A secret version in Secret Manager. */
export type SecretReference = {
  /** Project id or number; null for the deployment's project. */
  readonly project: string | null;
  readonly secret: string;
  /** A number, an alias, or `latest`. */
  readonly version: string;
};

/** The Compute Engine provisioning models that job files can request. */
export type ProvisioningModel = 'STANDARD' | 'SPOT' | 'FLEX_START';

/** Every role that a replica can have, in the order of Vertex AI's worker pools. */
export const ROLES = ['master', 'worker', 'ps', 'evaluator'] as const;

export type Role = (typeof ROLES)[number];

export type ReplicaGroup = {
  readonly role: Role;
  readonly count: number;
  readonly machineType: string;
  readonly accelerator: { readonly type: string; readonly count: number } | null;
  readonly bootDiskGib: number;
  readonly bootDiskType: BootDiskType;
  readonly reservation: Reservation | null;
  /** What this group runs instead of the job's program; null for the job's program. */
  readonly program: Program | null;
};

export const BOOT_DISK_TYPES = ['pd-ssd', 'pd-standard', 'pd-balanced', 'hyperdisk-balanced'] as const;

export type BootDiskType = (typeof BOOT_DISK_TYPES)[number];

/**
 * Which reservations a group may consume (Compute Engine docs, "Consume reservations"); names are full resource names.
 */
export type Reservation =
  | { readonly kind: 'ANY' | 'NONE' }
  | { readonly kind: 'SPECIFIC'; readonly names: readonly string[] };

export type Program = PythonProgram | ContainerProgram;

export type PythonProgram = {
  readonly kind: 'PYTHON';
  /** `gs://` URIs of source distributions and wheels, installed in this order. */
  readonly packageUris: readonly string[];
  /** A module of the packages or of their requirements; null for a command. */
  readonly module: string | null;
  /** Runs in the environment and the folder of the packages; absent for a module. */
  readonly command?: readonly string[] | undefined;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

export type ContainerProgram = {
  readonly kind: 'CONTAINER';
  /** As requested: a tag may name another image at any time. */
  readonly imageUri: string;
  /** What intake found in the registry, which every attempt runs; null before that. */
  readonly image: PinnedImage | null;
  /** Replaces the image's entry point; empty keeps it. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** `gs://` URIs of packages whose modules the container's Python finds; none for most containers. */
  readonly packageUris: readonly string[];
  /** A module of the packages that the image's Python runs; null for the command or the image's entry point. */
  readonly module: string | null;
};

/** An image for the platform of the VMs, with what its configuration says (OCI Image Specification, "config"). */
export type PinnedImage = {
  /** `host/repository@sha256:…` */
  readonly uri: string;
  /** What a VM downloads: all layers, compressed. */
  readonly sizeBytes: number;
  /** `linux/amd64`; missing in jobs that were stored without it. */
  readonly platform?: string | undefined;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** User name or id, with or without group; empty for root. */
  readonly user: string;
  /** Empty for `/`. */
  readonly workingDir: string;
};

/**
 * Settings that job file, JobSpec and the agent's configuration carry under the same name. Absent options have
 * their default (`withDefaults` in shared/protocol/program-options.ts).
 */
export type ProgramOptions = {
  /** 0 to 19, added to the agent's own niceness; 0 by default. */
  readonly nice?: number | undefined;
  /** Whether packages that an earlier job has installed are used; true by default. */
  readonly environmentCache?: boolean | undefined;
  /** Whether the lines that the program prints are searched for metrics; false by default. */
  readonly metricsFromOutput?: boolean | undefined;
  /** Where the program runs: a folder of its package, or an absolute path of its image; empty for the default. */
  readonly workdir?: string | undefined;
  /** Whether what the program creates or changes below its working directory is an output; true by default. */
  readonly workdirOutputs?: boolean | undefined;
  /** Which of these files are outputs: patterns of relative paths; all but hidden files and caches by default. */
  readonly outputs?: readonly string[] | undefined;
  /** Added to the arguments when the program begins with files of an earlier attempt; none by default. */
  readonly resumeArguments?: readonly string[] | undefined;
};

export type JobLimits = {
  /**
   * Limit on the time that the job is RUNNING, over all attempts; the job fails when it is exceeded. AI Platform
   * measures it "from when the job enters the RUNNING state" (TrainingInput, Scheduling): waiting for VMs and their
   * setup are QUEUED and PREPARING, and not counted.
   */
  readonly maxRunningMs: number;
  /**
   * Limit from submission until the job first runs: QUEUED and PREPARING (AI Platform, Scheduling); null for no limit.
   */
  readonly maxWaitMs: number | null;
  /** How often the program is restarted after a user error. Interruptions do not count. */
  readonly restartsMax: number;
  /** How long the VM of a program that has failed is kept for a look; 0 to delete it at once. */
  readonly keepOnFailureMs: number;
};

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
