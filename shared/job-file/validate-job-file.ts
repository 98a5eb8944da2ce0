import { type Price, priceOf, vertexPriceOf } from '#shared/catalog/price.ts';
import { MAX_RUNNING_MS_DEFAULT } from '#shared/domain/job-spec.ts';
import type { Role } from '#shared/domain/replica-name.ts';
import type { Parameter, Study } from '#shared/domain/study.ts';
import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import {
  type Count,
  type Dialect,
  type DraftValue,
  type JobDraft,
  listDraftValues,
} from '#shared/job-file/draft/job-draft.ts';
import { withPrebuiltRuntimes } from '#shared/job-file/draft/prebuilt-images.ts';
import { inFileOrder, PLACEHOLDER_CODE } from '#shared/job-file/parser/findings.ts';
import { type JobFileReading, readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob, type JobCheck, type JobPlan } from '#shared/job-file/validation/check-job.ts';
import type { RequestedMachines } from '#shared/job-file/validation/check-machines.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import type { VmNetwork } from '#shared/protocol/internet-access.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** The result of validating a job file on its own, before it is submitted. */
export type JobFileValidation = {
  readonly verdict: 'valid' | 'invalid';
  /** Null if the file is in no known dialect. */
  readonly dialect: Dialect | null;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** The requested machines and GPUs by role: `{ master: ['n1-standard-8', { NVIDIA_TESLA_T4: 1 }] }`. */
  readonly cluster: Cluster | null;
  /** Null if the job is a single training; a number is null if only a flag can set it. */
  readonly trials: Trials | null;
  /** The parameters of a tuning; empty if its study has errors. */
  readonly parameters: readonly Parameter[];
  /** The values of its first trials that the file gives. */
  readonly start: Study['start'];
  /** List prices of everything that runs concurrently: Compute Engine's, and Vertex AI's for comparison. */
  readonly price: JobFilePrice | null;
  /** The plan of what would run; null if the file does not specify it or has errors there. */
  readonly plan: JobPlan | null;
  /** The images of containers, as the file names them; they are looked up when the job is submitted. */
  readonly images: readonly string[];
  readonly network: VmNetwork;
  /** Whether this version of Dropforge can run the job; if not, warnings say why. */
  readonly isRunnable: boolean;
};

export type Trials = { readonly max: number | null; readonly parallel: number | null };

export type JobFilePrice = {
  /** The price of the machines as requested; on demand if that of Flex-start is not known. */
  readonly perHour: number | null;
  readonly onDemandPerHour: number | null;
  readonly spotPerHour: number | null;
  readonly vertexPerHour: number | null;
  /** The time limit of the job, or of each trial. */
  readonly maxRunningMs: number;
  readonly asOf: Price['asOf'];
  readonly region: Price['region'];
};

/**
 * Machines by role, as `jobs validate` prints them: `{ master: ['n1-standard-8', { NVIDIA_TESLA_T4: 1 }], worker: [9,
 * 'n1-highcpu-16', {}] }`. The machine type is preceded by the count, except for the master, whose count only Vertex
 * AI's files have, and followed by a TPU's topology: `{ tpuTopology: '4x4' }`.
 */
export type Cluster = Readonly<Partial<Record<Role, readonly (Count | Readonly<Record<string, Count>>)[]>>>;

/** Problems that a submission can still resolve, with flags or the package; a file without these values is valid. */
const OPEN_CODES: ReadonlySet<string> = new Set(['MISSING_FIELD', PLACEHOLDER_CODE]);

/** Fields, in the names of every format, that flags or the upload of the package usually set: not worth a warning. */
const SUBMISSION_FIELDS: ReadonlySet<string> = new Set([
  ...['jobId', 'packageUris', 'pythonModule'],
  ...['displayName', 'name', 'packages', 'module'],
]);

/**
 * Validates a job file on its own. Values that a submission supplies (job id, package, module) may be missing; others
 * that it can add (placeholders of a template) are reported as warnings, and so are valid settings that this version
 * cannot run.
 */
export function validateJobFile(
  source: string | Uint8Array,
  options: { readonly fileName: string; readonly context: JobContext },
): JobFileValidation {
  return validateReading(readJobFile(source, options), options.context);
}

/** Does the same as `validateJobFile` for a file that was read. */
export function validateReading(reading: JobFileReading, context: JobContext): JobFileValidation {
  if (reading.draft === null) {
    const { problems: errors, warnings } = reading;
    return { ...NOTHING_TO_RUN, verdict: 'invalid', dialect: null, errors, warnings };
  }
  return describe(reading.draft, checkJob(reading.draft, context));
}

/** The validation of a file that is not a job file has these. */
export const NOTHING_TO_RUN = {
  cluster: null,
  trials: null,
  parameters: [],
  start: undefined,
  price: null,
  plan: null,
  images: [],
  network: { network: null, networkAttachment: null, region: null },
  isRunnable: false,
} as const;

function describe(draft: JobDraft, check: JobCheck): JobFileValidation {
  const errors = check.problems.filter(({ code }) => !OPEN_CODES.has(code));
  const open = check.problems.filter((problem) => OPEN_CODES.has(problem.code) && !isSuppliedOnSubmission(problem));
  const hasCluster = check.requested.length > 0 && !isEmptyJob(draft);
  return {
    verdict: errors.length === 0 ? 'valid' : 'invalid',
    dialect: draft.dialect,
    errors,
    warnings: inFileOrder([...check.warnings, ...check.unsupported, ...open]),
    cluster: hasCluster ? describeCluster(draft.dialect, check.requested) : null,
    trials: trialsOf(draft),
    parameters: check.study?.parameters ?? [],
    start: check.study?.start,
    price: check.plan && describePrice(check.plan, draft),
    plan: check.plan,
    images: imagesOf(draft),
    network: {
      // A subnetwork alone does not say which network it is in.
      network: (draft.network ?? draft.subnetwork)?.value ?? null,
      networkAttachment: draft.networkAttachment?.value ?? null,
      region: draft.region?.value ?? null,
    },
    isRunnable: errors.length === 0 && check.unsupported.length === 0,
  };
}

/** Without those that stand for a runtime, such as AI Platform's prebuilt images. */
function imagesOf(draft: JobDraft): readonly string[] {
  const uris = withPrebuiltRuntimes(draft).pools.flatMap(({ program }) => program.imageUri?.value ?? []);
  return [...new Set(uris)];
}

function isSuppliedOnSubmission({ code, path }: Problem): boolean {
  return code === 'MISSING_FIELD' && SUBMISSION_FIELDS.has(path?.split('.').at(-1) ?? '');
}

export function describeCluster(dialect: Dialect, requested: readonly RequestedMachines[]): Cluster {
  return Object.fromEntries(
    requested.map(({ role, count, machineType, gpus, tpuTopology }) => [
      role,
      [
        ...(role === 'master' && dialect !== 'vertex-ai' ? [] : [count]),
        machineType,
        gpus,
        ...(tpuTopology === null ? [] : [{ tpuTopology }]),
      ],
    ]),
  );
}

/** An empty trainingInput requests no machine rather than the default one: its fields are misplaced elsewhere. */
function isEmptyJob(draft: JobDraft): boolean {
  const isSet = ({ path }: DraftValue) => path.startsWith('trainingInput.');
  return draft.dialect === 'ai-platform' && !listDraftValues(draft).some(isSet);
}

/** AI Platform runs one trial after the other by default; Vertex AI requires both numbers, from the file or a flag. */
function trialsOf({ dialect, study }: JobDraft): Trials | null {
  if (study === undefined) {
    return null;
  }
  const least = dialect === 'vertex-ai' ? null : 1;
  return { max: study.maxTrials?.value || least, parallel: study.parallelTrials?.value || least };
}

/** The number of concurrent trials: the permitted number, at most the total. */
function parallelTrials(trials: Trials | null): number {
  const parallel = trials?.parallel ?? 1;
  return Math.min(parallel, trials?.max ?? parallel);
}

function describePrice({ groups, provisioningModel }: JobPlan, draft: JobDraft): JobFilePrice {
  const trialCount = parallelTrials(trialsOf(draft));
  const requested = groups.map((group) => ({ ...group, count: group.count * trialCount }));
  const machines = requested.map((group) => ({ ...group, provisioningModel: null }));
  const onDemand = priceOf(machines, 'STANDARD');
  const perHour = priceOf(requested, provisioningModel).perHourUsd;
  return {
    perHour: provisioningModel === 'FLEX_START' ? (perHour ?? onDemand.perHourUsd) : perHour,
    onDemandPerHour: onDemand.perHourUsd,
    spotPerHour: priceOf(machines, 'SPOT').perHourUsd,
    vertexPerHour: vertexPriceOf(machines).perHourUsd,
    maxRunningMs: parseDurationMs(draft.maxRunningTime?.value ?? '') ?? MAX_RUNNING_MS_DEFAULT,
    asOf: onDemand.asOf,
    region: onDemand.region,
  };
}
