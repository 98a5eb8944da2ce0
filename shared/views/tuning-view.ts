import { priceOfJob } from '#shared/catalog/job-price.ts';
import { priceOf } from '#shared/catalog/price.ts';
import { isPlaced, type Job, type TimestampMs } from '#shared/domain/job.ts';
import { isMultiObjective, objectiveMetricsOf, type Study } from '#shared/domain/study.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import type { TrialView, TuningView } from '#shared/protocol/tuning-view.ts';
import type { Tuning } from '#shared/tuning/tuning.ts';
import { rfc3339, viewCommon, viewWait } from '#shared/views/job-view.ts';

/** The records that are read besides the tuning itself. */
export type TuningFacts = {
  readonly best: TrialView | null;
  /** With several objectives, the optimal trials to show; none in lists. */
  readonly optimal?: readonly TrialView[];
  /** Null in lists. */
  readonly recommended?: TuningView['recommended'];
  /** The jobs of the trials that have not ended; empty in lists, whose prices leave them out. */
  readonly jobs: readonly Job[];
  readonly now: TimestampMs;
};

/** A tuning as users see it in reports and the API: a job whose `tuning` is set. */
export function viewTuning(tuning: Tuning, facts: TuningFacts): JobView {
  const runningUsd = facts.jobs.reduce((sum, job) => sum + (priceOfJob(job, facts.now).totalUsd ?? 0), 0);
  return {
    ...viewCommon(tuning),
    attempt: 0,
    placement: null,
    waitingFor: viewTrialsWait(facts.jobs),
    attempts: [],
    replicas: [],
    tuning: viewSearch(tuning, facts, runningUsd),
    trial: null,
    health: [],
    timeline: [],
    warnings: [],
    price: viewPrice(tuning, runningUsd),
    kept: null,
  };
}

/** Why no trial runs, if all of them wait for VMs. */
function viewTrialsWait(jobs: readonly Job[]): JobView['waitingFor'] {
  const waits = jobs.map((job) => (isPlaced(job) ? null : viewWait(job)));
  return waits.every((wait) => wait !== null) ? (waits[0] ?? null) : null;
}

function viewSearch(
  tuning: Tuning,
  { best, optimal = [], recommended = null, now }: TuningFacts,
  runningUsd: number,
): TuningView {
  const { study, counts, running, stopReason, resumes } = tuning;
  const hasSeveral = isMultiObjective(study);
  const { succeeded, infeasible, failed } = counts;
  return {
    ...viewGoals(study),
    algorithm: study.algorithm,
    earlyStopping: appliedRuleOf(study),
    trialsMax: study.trialsMax,
    parallelTrialsMax: study.parallelTrialsMax,
    endedTrialCount: succeeded + infeasible + failed,
    counts: { ...counts, running: running.length },
    best: hasSeveral ? null : best,
    optimal: hasSeveral ? { count: tuning.front.length, trials: [...optimal] } : null,
    recommended,
    stopReason,
    maxCostUsd: study.maxCostUsd,
    forecast: forecast(tuning, { runningUsd, now }),
    resumes: [...resumes],
    study,
  };
}

/** The metrics that the study optimizes; `objectives` is empty if there is one. */
export function viewGoals(study: Study): Pick<TuningView, 'metricId' | 'goal' | 'objectives'> {
  const objectives = objectiveMetricsOf(study).map(({ id, goal }) => ({ metricId: id, goal }));
  const [first = { metricId: '', goal: 'MAXIMIZE' as const }] = objectives;
  return { ...first, objectives: isMultiObjective(study) ? objectives : [] };
}

/** DECAY_CURVE, CONVEX and AUTOMATIC are applied as the median rule. */
function appliedRuleOf({ earlyStopping }: Study): TuningView['earlyStopping'] {
  return earlyStopping === null ? null : earlyStopping.rule === 'ASHA' ? 'ASHA' : 'MEDIAN';
}

/** The price per hour is that of one trial, as the machines are. */
export function viewPrice({ spec, spentUsd }: Tuning, runningUsd: number): JobView['price'] {
  const { perHourUsd, asOf } = priceOf(spec.replicaGroups, spec.provisioningModel);
  if (perHourUsd === null) {
    return { perHourUsd, billedSeconds: 0, totalUsd: null, asOf };
  }
  const totalUsd = spentUsd + runningUsd;
  const billedSeconds = perHourUsd === 0 ? 0 : Math.round((totalUsd / perHourUsd) * 3_600);
  return { perHourUsd, billedSeconds, totalUsd, asOf };
}

type Moment = { readonly runningUsd: number; readonly now: TimestampMs };

/**
 * When the last trial will end and what all will have cost, if the others take as long as those that have ended, with
 * waiting for VMs and repeating lost trials. Null before the first trial has ended, and after the search.
 */
function forecast(tuning: Tuning, { runningUsd, now }: Moment): TuningView['forecast'] {
  const { study, counts, running, firstTrialAt, spentUsd, perHourUsd } = tuning;
  const ended = counts.succeeded + counts.infeasible + counts.failed;
  if (tuning.status !== 'SEARCHING' || tuning.stopReason !== null || ended === 0 || firstTrialAt === null) {
    return null;
  }
  const { trialsMax } = study;
  const slots = Math.min(study.parallelTrialsMax, trialsMax);
  const busyMs = running.map(({ since }) => Math.max(0, now - since));
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const perTrialMs = Math.max(0, slots * (now - firstTrialAt) - sum(busyMs)) / ended;
  const left = Math.max(0, trialsMax - ended);
  const leftMs = left * perTrialMs - sum(busyMs.map((ms) => Math.min(ms, perTrialMs)));
  // Trials are not divisible: the last one takes as long as any.
  const lastMs = Math.max(...busyMs.map((ms) => perTrialMs - ms), left > running.length ? perTrialMs : 0, 0);
  const totalUsd = Math.max((spentUsd / ended) * trialsMax, spentUsd + runningUsd);
  return {
    endTime: rfc3339(Math.round(now + Math.max(leftMs / slots, lastMs))),
    totalUsd: perHourUsd === null ? null : Math.min(totalUsd, study.maxCostUsd ?? totalUsd),
  };
}
