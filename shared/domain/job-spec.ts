/** What the user asked for, after every dialect has been read into one form. Lengths are milliseconds, sizes GiB. */
export type JobSpec = {
  readonly jobId: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The first group is the master's and has one replica. */
  readonly replicaGroups: readonly [ReplicaGroup, ...ReplicaGroup[]];
  readonly program: PythonProgram;
  readonly region: string;
  readonly provisioningModel: ProvisioningModel;
  readonly runtimeVersion: string;
  readonly pythonVersion: string | null;
  /** `gs://bucket/path` without a slash at the end. */
  readonly jobDir: string;
  readonly limits: JobLimits;
};

export type ProvisioningModel = 'STANDARD' | 'SPOT';

export type Role = 'master' | 'worker' | 'ps' | 'evaluator';

export type ReplicaGroup = {
  readonly role: Role;
  readonly count: number;
  readonly machineType: string;
  readonly accelerator: { readonly type: string; readonly count: number } | null;
  readonly bootDiskGib: number;
};

export type PythonProgram = {
  /** `gs://` addresses of source distributions and wheels, installed in this order. */
  readonly packageUris: readonly string[];
  readonly module: string;
  readonly args: readonly string[];
};

export type JobLimits = {
  /** Counted from the first time the job runs; the job fails when it is passed. */
  readonly maxRunningMs: number;
  /** Counted from submission until the job first runs; null waits without end. */
  readonly maxWaitMs: number | null;
  /** How often a user error may start the program again. Interruptions are not counted here. */
  readonly restartsMax: number;
};

/** The rule of AI Platform Training (docs "managing models and jobs"): a letter, then letters, digits, underscores. */
export const JOB_ID_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;

/** What `scheduling.maxRunningTime` is when nothing is said: seven days, as on AI Platform. */
export const MAX_RUNNING_MS_DEFAULT = 7 * 24 * 3_600_000;
