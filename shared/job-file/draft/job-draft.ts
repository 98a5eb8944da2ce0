import type { Role } from '#shared/domain/job-spec.ts';
import type { StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import type { Located } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/report.ts';

export type Dialect = 'ai-platform' | 'vertex-ai' | 'dropforge';

/**
 * A job as it is written, before anything in it is judged: what every dialect is read into, each value with its place,
 * so that whatever is wrong with it can be shown where it stands. Undefined is what was not said. Texts are as written,
 * in the spelling of their dialect; `printJobFile` gives the file again.
 */
export type JobDraft = {
  readonly dialect: Dialect;
  /** What is wrong with its form already; a draft with problems never becomes a job. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** What is right and yet cannot be run; such a draft can be judged, but not submitted. */
  readonly unsupported: readonly Problem[];
  readonly jobId: Located<string> | undefined;
  /** Vertex AI's name for people; a job id is made of it. */
  readonly displayName: Located<string> | undefined;
  readonly labels: readonly Located<KeyedText>[];
  /** Environment variables, and the secrets that they are to hold. */
  readonly secrets: readonly Located<KeyedText>[];
  readonly scaleTier: Located<string> | undefined;
  /** By role, the master's first. A pool about which nothing is said has no machines. */
  readonly pools: readonly PoolDraft[];
  readonly region: Located<string> | undefined;
  readonly jobDir: Located<string> | undefined;
  readonly runtimeVersion: Located<string> | undefined;
  readonly pythonVersion: Located<string> | undefined;
  /** Durations as the API writes them: `3600s`. */
  readonly maxRunningTime: Located<string> | undefined;
  readonly maxWaitTime: Located<string> | undefined;
  /** ON_DEMAND, LOW_COST, STANDARD, SPOT or FLEX_START. */
  readonly strategy: Located<string> | undefined;
  readonly restartsMax: Located<number> | undefined;
  readonly serviceAccount: Located<string> | undefined;
  readonly network: Located<string> | undefined;
  readonly kmsKeyName: Located<string> | undefined;
  readonly study: StudyDraft | undefined;
};

/** A label, an environment variable, or the name of one with the name of a secret. */
export type KeyedText = { readonly key: string; readonly text: string };

/** A number, or the text of a placeholder that nobody has filled in, which is then among the problems. */
export type Count = number | string;

/** The replicas of one role. */
export type PoolDraft = {
  readonly role: Role;
  /** Where what is missing in it belongs: `trainingInput`, `workerPoolSpecs[1]`. */
  readonly path: string;
  readonly count: Located<Count> | undefined;
  readonly machineType: Located<string> | undefined;
  readonly accelerator: AcceleratorDraft;
  readonly tpuTopology: Located<string> | undefined;
  readonly bootDiskGib: Located<number> | undefined;
  readonly bootDiskType: Located<string> | undefined;
  readonly reservation: ReservationDraft | undefined;
  readonly program: ProgramDraft;
};

export type AcceleratorDraft = {
  readonly type: Located<string> | undefined;
  readonly count: Located<Count> | undefined;
};

/** Vertex AI's ReservationAffinity; the type is NO_RESERVATION, ANY_RESERVATION or SPECIFIC_RESERVATION. */
export type ReservationDraft = {
  readonly type: Located<string> | undefined;
  readonly key: Located<string> | undefined;
  readonly values: readonly Located<string>[];
};

/** A Python package or a container; where a pool of AI Platform says nothing, it runs what the master runs. */
export type ProgramDraft = {
  /** Addresses, or paths beside the job file. */
  readonly packageUris: readonly Located<string>[] | undefined;
  readonly pythonModule: Located<string> | undefined;
  /** Vertex AI's image that a Python package runs in; it stands for a runtime version. */
  readonly executorImageUri: Located<string> | undefined;
  /** For the module; or for the container, where the dialect has one field for both. */
  readonly args: readonly Located<string>[] | undefined;
  readonly imageUri: Located<string> | undefined;
  readonly command: readonly Located<string>[] | undefined;
  /** For the container, where the dialect has a field of its own (AI Platform's containerArgs, Vertex AI's containerSpec.args). */
  readonly containerArgs: readonly Located<string>[] | undefined;
  readonly environment: readonly Located<KeyedText>[];
};

export const EMPTY_PROGRAM: ProgramDraft = {
  packageUris: undefined,
  pythonModule: undefined,
  executorImageUri: undefined,
  args: undefined,
  imageUri: undefined,
  command: undefined,
  containerArgs: undefined,
  environment: [],
};

/** A pool about which nothing was said. */
export function emptyPool(role: Role, path: string): PoolDraft {
  return {
    role,
    path,
    count: undefined,
    machineType: undefined,
    accelerator: { type: undefined, count: undefined },
    tpuTopology: undefined,
    bootDiskGib: undefined,
    bootDiskType: undefined,
    reservation: undefined,
    program: EMPTY_PROGRAM,
  };
}

/** The master's pool: what is said once for a job is said there. */
export function masterOf({ pools }: JobDraft): PoolDraft {
  return pools[0] ?? emptyPool('master', '');
}

/** A job about which nothing was said: where a submission without a job file begins. */
export const EMPTY_DRAFT: JobDraft = {
  dialect: 'ai-platform',
  problems: [],
  warnings: [],
  unsupported: [],
  jobId: undefined,
  displayName: undefined,
  labels: [],
  secrets: [],
  scaleTier: undefined,
  pools: [],
  region: undefined,
  jobDir: undefined,
  runtimeVersion: undefined,
  pythonVersion: undefined,
  maxRunningTime: undefined,
  maxWaitTime: undefined,
  strategy: undefined,
  restartsMax: undefined,
  serviceAccount: undefined,
  network: undefined,
  kmsKeyName: undefined,
  study: undefined,
};
