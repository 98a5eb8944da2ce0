import type { HealthField } from '#shared/domain/health.ts';
import type { ProgramOptions } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import type { NotifyDraft } from '#shared/job-file/draft/notify-draft.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import type { Found, Located } from '#shared/job-file/parser/findings.ts';

export type Dialect = 'ai-platform' | 'vertex-ai' | 'dropforge';

/**
 * A parsed job file of any dialect, before validation. Every value has its location, so that findings can point to it.
 * Absent fields are undefined. Texts are as written, in the spelling of their dialect. A draft with problems, or with
 * what is not supported, never becomes a job.
 */
export type JobDraft = Found & {
  readonly dialect: Dialect;
  readonly jobId?: Located<string> | undefined;
  /** Vertex AI's display name, from which the job id is derived. */
  readonly displayName?: Located<string> | undefined;
  readonly labels: readonly Located<KeyedText>[];
  /** By environment variable, a reference to the secret that becomes its value. */
  readonly secrets: readonly Located<KeyedText>[];
  readonly scaleTier?: Located<string> | undefined;
  /** By role, the master's first. A pool without any fields has no machines. */
  readonly pools: readonly PoolDraft[];
  readonly region?: Located<string> | undefined;
  readonly jobDir?: Located<string> | undefined;
  readonly runtimeVersion?: Located<string> | undefined;
  readonly pythonVersion?: Located<string> | undefined;
  /** Durations as the API writes them: `3600s`. */
  readonly maxRunningTime?: Located<string> | undefined;
  readonly maxWaitTime?: Located<string> | undefined;
  /** ON_DEMAND, LOW_COST, STANDARD, SPOT or FLEX_START. */
  readonly strategy?: Located<string> | undefined;
  readonly restartsMax?: Located<number> | undefined;
  /** How long the VM of a failed program is kept; a duration as the API writes them. */
  readonly keepOnFailure?: Located<string> | undefined;
  /** Whether the job wants a shell in its VMs (enableWebAccess). */
  readonly webAccess?: Located<boolean> | undefined;
  readonly programOptions: ProgramOptionsDraft;
  readonly health: HealthDraft;
  readonly serviceAccount?: Located<string> | undefined;
  readonly network?: Located<string> | undefined;
  readonly subnetwork?: Located<string> | undefined;
  readonly networkAttachment?: Located<string> | undefined;
  readonly kmsKeyName?: Located<string> | undefined;
  readonly study?: StudyDraft | undefined;
  readonly notify?: NotifyDraft | undefined;
};

/** The options of the program as they are written. */
export type ProgramOptionsDraft = {
  readonly [Name in keyof ProgramOptions]?: Located<NonNullable<ProgramOptions[Name]>> | undefined;
};

/** The consequences of findings about the training, as they are written; durations in the API's form. */
export type HealthDraft = {
  readonly [Field in HealthField | 'stalledAfter']?: Located<string> | undefined;
};

/** A label, an environment variable, or the name of one with the name of a secret. */
export type KeyedText = { readonly key: string; readonly text: string };

/** A number, or the text of an unreplaced placeholder, which is reported as a problem. */
export type Count = number | string;

/** The replicas of one role. */
export type PoolDraft = {
  readonly role: Role;
  /** The path of missing fields' parent: `trainingInput`, `workerPoolSpecs[1]`. */
  readonly path: string;
  readonly count?: Located<Count> | undefined;
  readonly machineType?: Located<string> | undefined;
  readonly accelerator: AcceleratorDraft;
  readonly tpuTopology?: Located<string> | undefined;
  readonly bootDiskGib?: Located<number> | undefined;
  readonly bootDiskType?: Located<string> | undefined;
  readonly reservation?: ReservationDraft | undefined;
  /** Whether its VMs are Spot VMs, whatever those of the job are; never set for the master. */
  readonly spot?: Located<boolean> | undefined;
  readonly program: ProgramDraft;
};

export type AcceleratorDraft = {
  readonly type?: Located<string> | undefined;
  readonly count?: Located<Count> | undefined;
};

/** Vertex AI's ReservationAffinity; the type is NO_RESERVATION, ANY_RESERVATION or SPECIFIC_RESERVATION. */
export type ReservationDraft = {
  readonly type?: Located<string> | undefined;
  readonly key?: Located<string> | undefined;
  readonly values: readonly Located<string>[];
};

/** The only supported label key for selecting reservations (Vertex AI, ReservationAffinity.key). */
export const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

/** A Python package or a container. A pool of AI Platform without one runs the master's program. */
export type ProgramDraft = {
  /** gs:// addresses, or paths relative to the job file. */
  readonly packageUris?: readonly Located<string>[] | undefined;
  readonly pythonModule?: Located<string> | undefined;
  /** Vertex AI's image for running a Python package; it selects the runtime version. */
  readonly executorImageUri?: Located<string> | undefined;
  /** For the module; also for the container if the dialect has one field for both. */
  readonly args?: readonly Located<string>[] | undefined;
  readonly imageUri?: Located<string> | undefined;
  readonly command?: readonly Located<string>[] | undefined;
  /**
   * For the container, in dialects with a separate field (AI Platform's containerArgs, Vertex AI's containerSpec.args).
   */
  readonly containerArgs?: readonly Located<string>[] | undefined;
  readonly environment: readonly Located<KeyedText>[];
};

export const EMPTY_PROGRAM: ProgramDraft = { environment: [] };

/** A pool without any fields. */
export function emptyPool(role: Role, path: string): PoolDraft {
  return { role, path, accelerator: {}, program: EMPTY_PROGRAM };
}

/** The master's pool, which also has the fields that a job has only once. */
export function masterOf({ pools }: JobDraft): PoolDraft {
  return pools[0] ?? emptyPool('master', '');
}

/** A job without any fields: the starting point of a submission without a job file. */
export const EMPTY_DRAFT: JobDraft = {
  dialect: 'ai-platform',
  problems: [],
  warnings: [],
  unsupported: [],
  labels: [],
  secrets: [],
  pools: [],
  programOptions: {},
  health: {},
};

/** A value of a draft with its name in the draft, `pools.worker.count`, and its path in the file. */
export type DraftValue = { readonly name: string; readonly path: string; readonly value: unknown };

/** All values of a draft. Pools are named by role, items of lists by index. */
export function listDraftValues(draft: JobDraft): readonly DraftValue[] {
  const { problems: _problems, warnings: _warnings, unsupported: _unsupported, pools, ...fields } = draft;
  return listValues({ ...fields, pools: Object.fromEntries(pools.map((pool) => [pool.role, pool])) }, '');
}

function listValues(node: unknown, name: string): readonly DraftValue[] {
  if (typeof node !== 'object' || node === null) {
    return [];
  }
  if ('value' in node && 'path' in node) {
    return [{ name, path: String(node.path), value: node.value }];
  }
  return Object.entries(node).flatMap(([key, child]) => listValues(child, name === '' ? key : `${name}.${key}`));
}

/** The paths of fields in each dialect, for findings on values that are missing or come from a flag or a default. */
const FIELD_PATHS = {
  'ai-platform': {
    jobId: 'jobId',
    region: 'trainingInput.region',
    jobDir: 'trainingInput.jobDir',
    runtimeVersion: 'trainingInput.runtimeVersion',
    pythonVersion: 'trainingInput.pythonVersion',
    machineType: 'trainingInput.masterType',
    packageUris: 'trainingInput.packageUris',
    pythonModule: 'trainingInput.pythonModule',
    strategy: 'trainingInput.scheduling.strategy',
  },
  'vertex-ai': {
    jobId: 'displayName',
    region: '--region',
    jobDir: 'baseOutputDirectory.outputUriPrefix',
    runtimeVersion: 'workerPoolSpecs[0].pythonPackageSpec.executorImageUri',
    pythonVersion: '--python-version',
    machineType: 'workerPoolSpecs[0].machineSpec.machineType',
    packageUris: 'workerPoolSpecs[0].pythonPackageSpec.packageUris',
    pythonModule: 'workerPoolSpecs[0].pythonPackageSpec.pythonModule',
    strategy: 'scheduling.strategy',
  },
  dropforge: {
    jobId: 'name',
    region: 'region',
    jobDir: 'output',
    runtimeVersion: 'runtime',
    pythonVersion: 'python',
    machineType: 'machine',
    packageUris: 'packages',
    pythonModule: 'module',
    strategy: 'spot',
  },
} as const satisfies Record<Dialect, Record<string, string>>;

export type FieldName = keyof (typeof FIELD_PATHS)['ai-platform'];

export function fieldPath(dialect: Dialect, field: FieldName): string {
  return FIELD_PATHS[dialect][field];
}
