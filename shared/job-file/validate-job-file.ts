import { type Price, priceOf, vertexPriceOf } from '#shared/catalog/price.ts';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { printAiPlatformJob } from '#shared/job-file/formats/ai-platform/print.ts';
import { inFileOrder, PLACEHOLDER_CODE } from '#shared/job-file/parser/findings.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { checkJob, type JobCheck, type JobPlan } from '#shared/job-file/validation/check-job.ts';
import { type Cluster, describeCluster } from '#shared/job-file/validation/describe-cluster.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import type { Problem } from '#shared/protocol/report.ts';

/** A job file judged by itself, before anybody submits it. */
export type JobFileValidation = {
  readonly verdict: 'valid' | 'invalid';
  /** Null where the file is in none that is read. */
  readonly dialect: Dialect | null;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Machines by role, with the GPUs that were asked for: `{ master: ['n1-standard-8', { NVIDIA_TESLA_T4: 1 }] }`. */
  readonly cluster: Cluster | null;
  /** Null where the job is a single training; parts of it are null where only flags say them. */
  readonly trials: Trials | null;
  /** Compute Engine's list prices for what would run at a time, and Vertex AI's for the same. */
  readonly price: JobFilePrice | null;
  /** What would run; null where the file does not say it, or wrongly. */
  readonly plan: JobPlan | null;
  /** Whether this version of Dropforge can run such a job; if not, warnings say why. */
  readonly isRunnable: boolean;
};

export type Trials = { readonly max: number | null; readonly parallel: number | null };

export type JobFilePrice = {
  readonly onDemandPerHour: number | null;
  readonly spotPerHour: number | null;
  readonly vertexPerHour: number | null;
  readonly asOf: Price['asOf'];
  readonly region: Price['region'];
};

/** What a submission still brings along: a file without it is no worse for that. */
const OPEN_CODES: ReadonlySet<string> = new Set(['MISSING_FIELD', PLACEHOLDER_CODE]);

/**
 * Judges a job file together with nothing else. What a submission adds from elsewhere (the job id, the package, what a
 * template leaves open) may be missing: that is a warning here, and so is what is right but cannot be run.
 */
export function validateJobFile(
  source: string | Uint8Array,
  options: { readonly fileName: string; readonly context: JobContext },
): JobFileValidation {
  const reading = readJobFile(source, options);
  if (reading.draft === null) {
    const { problems: errors, warnings } = reading;
    return { ...NOTHING_TO_RUN, verdict: 'invalid', dialect: null, errors, warnings };
  }
  return describe(reading.draft, checkJob(reading.draft, options.context));
}

const NOTHING_TO_RUN = { cluster: null, trials: null, price: null, plan: null, isRunnable: false } as const;

function describe(draft: JobDraft, check: JobCheck): JobFileValidation {
  const errors = check.problems.filter(({ code }) => !OPEN_CODES.has(code));
  const open = check.problems.filter(({ code }) => OPEN_CODES.has(code));
  return {
    verdict: errors.length === 0 ? 'valid' : 'invalid',
    dialect: draft.dialect,
    errors,
    warnings: inFileOrder([...check.warnings, ...check.unsupported, ...open]),
    cluster: check.asked.length === 0 || saysNothing(draft) ? null : describeCluster(draft.dialect, check.asked),
    trials: trialsOf(draft),
    price: check.plan && describePrice(check.plan, trialsAtATime(trialsOf(draft))),
    plan: check.plan,
    isRunnable: errors.length === 0 && check.unsupported.length === 0,
  };
}

/** An empty trainingInput asks for no machine, not for the default one: what was meant for it stands elsewhere. */
function saysNothing(draft: JobDraft): boolean {
  return draft.dialect === 'ai-platform' && Object.keys(Object(printAiPlatformJob(draft).trainingInput)).length === 0;
}

/** AI Platform runs one trial after the other where nothing is said; Vertex AI wants both numbers, from a flag at the latest. */
function trialsOf({ dialect, study }: JobDraft): Trials | null {
  if (study === undefined) {
    return null;
  }
  const least = dialect === 'vertex-ai' ? null : 1;
  return { max: study.maxTrials?.value || least, parallel: study.parallelTrials?.value || least };
}

/** As many as are allowed, but no more than there are. */
function trialsAtATime(trials: Trials | null): number {
  const parallel = trials?.parallel ?? 1;
  return Math.min(parallel, trials?.max ?? parallel);
}

function describePrice({ groups }: JobPlan, trialsAtATime: number): JobFilePrice {
  const machines = groups.map((group) => ({ ...group, count: group.count * trialsAtATime }));
  const onDemand = priceOf(machines, 'STANDARD');
  return {
    onDemandPerHour: onDemand.perHourUsd,
    spotPerHour: priceOf(machines, 'SPOT').perHourUsd,
    vertexPerHour: vertexPriceOf(machines).perHourUsd,
    asOf: onDemand.asOf,
    region: onDemand.region,
  };
}
