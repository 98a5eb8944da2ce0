import type { Study } from '#shared/domain/study.ts';

/** What the user asked for, after every dialect has been read into one form. Lengths are milliseconds, sizes GiB. */
export type JobSpec = {
  readonly jobId: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The first group is the master's and has one replica. All of them are in one zone. */
  readonly replicaGroups: readonly [ReplicaGroup, ...ReplicaGroup[]];
  /** What every group runs that names no program of its own. */
  readonly program: Program;
  readonly region: string;
  readonly provisioningModel: ProvisioningModel;
  readonly runtimeVersion: string;
  readonly pythonVersion: string | null;
  /** `gs://bucket/path` without a slash at the end. */
  readonly jobDir: string;
  /** Whether the program is told its job directory as `--job-dir`: AI Platform does so, Vertex AI does not. */
  readonly passesJobDir: boolean;
  readonly limits: JobLimits;
  /** By the names of the environment variables that hold them. Only VMs read the values, just before they are used. */
  readonly secrets: Readonly<Record<string, SecretReference>>;
  /** E-mail address of the account that the VMs run as; null for the deployment's own. */
  readonly serviceAccount: string | null;
  /** `projects/P/global/networks/N`; null for the deployment's own. */
  readonly network: string | null;
  /** Cloud KMS key for the disks, `projects/P/locations/L/keyRings/R/cryptoKeys/K`; null for Google's own. */
  readonly kmsKeyName: string | null;
  /** Hyperparameters to be tuned: the job is then a study of many trials; null for a single training. */
  readonly study: Study | null;
};

/** A version of a secret of Secret Manager. */
export type SecretReference = {
  /** Id or number; null for the deployment's own. */
  readonly project: string | null;
  readonly secret: string;
  /** A number, an alias, or `latest`. */
  readonly version: string;
};

/** Compute Engine's provisioning models, as far as job files can ask for them. */
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
  /** What this group runs in place of the job's program; null where it runs that. */
  readonly program: Program | null;
};

export const BOOT_DISK_TYPES = ['pd-ssd', 'pd-standard', 'pd-balanced', 'hyperdisk-balanced'] as const;

export type BootDiskType = (typeof BOOT_DISK_TYPES)[number];

/** Which reserved capacity a group may use (Compute Engine, "consume reservations"); names are full resource names. */
export type Reservation =
  | { readonly kind: 'ANY' | 'NONE' }
  | { readonly kind: 'SPECIFIC'; readonly names: readonly string[] };

export type Program = PythonProgram | ContainerProgram;

export type PythonProgram = {
  readonly kind: 'PYTHON';
  /** `gs://` addresses of source distributions and wheels, installed in this order. */
  readonly packageUris: readonly string[];
  readonly module: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

export type ContainerProgram = {
  readonly kind: 'CONTAINER';
  readonly imageUri: string;
  /** In place of the image's entry point; empty for that. */
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

export type JobLimits = {
  /**
   * The time in which the job is RUNNING, all attempts together; the job fails when it is passed. AI Platform measures
   * it "from when the job enters the RUNNING state" (TrainingInput, Scheduling): waiting for the next attempt's machines
   * and setting them up is QUEUED and PREPARING, and not counted.
   */
  readonly maxRunningMs: number;
  /** From submission until the job first runs, QUEUED and PREPARING (AI Platform, Scheduling); null waits without end. */
  readonly maxWaitMs: number | null;
  /** How often a user error may start the program again. Interruptions are not counted here. */
  readonly restartsMax: number;
};

/** The rule of AI Platform Training (docs "managing models and jobs"): a letter, then letters, digits, underscores. */
export const JOB_ID_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;

/** Whether a label says whose a VM is: a user's of that key would make it somebody else's. */
export function isReservedLabel(key: string): boolean {
  return key.startsWith('dropforge') || key === 'managed-by';
}

/** Of these a VM has so many at most: its job's id, in up to five parts, attempt, role, and whose it is. */
export const OWN_LABELS_COUNT_MAX = 8;

/** What `scheduling.maxRunningTime` is when nothing is said: seven days, as on AI Platform. */
export const MAX_RUNNING_MS_DEFAULT = 7 * 24 * 3_600_000;
