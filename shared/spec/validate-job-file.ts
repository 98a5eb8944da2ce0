import { toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import { type Price, priceOf, vertexPriceOf } from '#shared/catalog/price.ts';
import type { JobSpec } from '#shared/domain/job-spec.ts';
import type { Problem } from '#shared/protocol/report.ts';
import { checkJob, type JobPlan } from '#shared/spec/check-job.ts';
import type { JobContext } from '#shared/spec/job-context.ts';
import type { Dialect } from '#shared/spec/job-draft.ts';
import { readJobFile } from '#shared/spec/read-job-file.ts';

/** A job file judged by itself, before anybody submits it. */
export type JobFileValidation = {
  readonly verdict: 'valid' | 'invalid';
  /** Null where the file is in none that is read. */
  readonly dialect: Dialect | null;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Set where the file says all that a job needs. */
  readonly spec?: JobSpec;
  /** Machines by role, with the GPUs that were asked for: `{ master: ['n1-standard-8', { NVIDIA_TESLA_T4: 1 }] }`. */
  readonly cluster?: Cluster;
  /** Compute Engine's list prices for what would run, and Vertex AI's for the same. */
  readonly price?: JobFilePrice;
};

export type Cluster = { readonly master: readonly [machineType: string, gpus: Readonly<Record<string, number>>] };

export type JobFilePrice = {
  readonly onDemandPerHour: number | null;
  readonly spotPerHour: number | null;
  readonly vertexPerHour: number | null;
  readonly asOf: Price['asOf'];
  readonly region: Price['region'];
};

/**
 * Judges a job file together with nothing else. What a submission adds from elsewhere (the job id, the package, the
 * module) may be missing: that is a warning here.
 */
export function validateJobFile(
  source: string | Uint8Array,
  options: { readonly fileName: string; readonly context: JobContext },
): JobFileValidation {
  const { draft, problems, warnings } = readJobFile(source, options);
  if (draft === null) {
    return { verdict: 'invalid', dialect: null, errors: problems, warnings };
  }
  const check = checkJob(draft, options.context);
  const isMissing = ({ code }: Problem) => code === 'MISSING_FIELD';
  const errors = check.problems.filter((problem) => !isMissing(problem));
  return {
    verdict: errors.length === 0 ? 'valid' : 'invalid',
    dialect: draft.dialect,
    errors,
    warnings: [...check.warnings, ...check.problems.filter(isMissing)],
    ...(check.spec !== null && { spec: check.spec }),
    ...(check.plan !== null && { cluster: clusterOf(check.plan), price: describePrice(check.plan) }),
  };
}

function clusterOf({ asked: { machineType, gpus } }: JobPlan): Cluster {
  return { master: [machineType, gpus === null ? {} : { [toAcceleratorEnum(gpus.type)]: gpus.count }] };
}

function describePrice({ groups }: JobPlan): JobFilePrice {
  const onDemand = priceOf(groups, 'STANDARD');
  return {
    onDemandPerHour: onDemand.perHourUsd,
    spotPerHour: priceOf(groups, 'SPOT').perHourUsd,
    vertexPerHour: vertexPriceOf(groups).perHourUsd,
    asOf: onDemand.asOf,
    region: onDemand.region,
  };
}
