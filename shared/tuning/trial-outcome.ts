import { causeOf, classOf } from '#shared/domain/cause.ts';
import type { JobIn } from '#shared/domain/job.ts';
import { type Metric, objectiveMetricOf, objectiveMetricsOf, type Study } from '#shared/domain/study.ts';
import { listFirst } from '#shared/text/list-first.ts';
import { nearestName } from '#shared/text/nearest-name.ts';
import { type Costs, costsOf } from '#shared/tuning/pareto.ts';
import type { Curve, InfeasibleReason, Measurement, MetricValue, TrialOutcome } from '#shared/tuning/trial.ts';

/** The facts that are known when the job of a trial is closed. */
export type EndedTrial = {
  readonly job: JobIn<'CLOSED'>;
  /** Undefined if the trial has reported none of the study's metrics. */
  readonly curve: Curve | undefined;
  readonly study: Study;
  /** Names of all metrics that the program reported. */
  readonly metricNames: readonly string[];
};

/** Labels of docs/diagnosis.md for failures of what surrounds the program: they say nothing about a trial's values. */
const SURROUNDING_LABELS: readonly string[] = [
  'network_error',
  'nccl_failure',
  'gpu_hardware_fault',
  'preempted',
  'stockout',
  'quota_exceeded',
];

/**
 * How the trial ended, and what that says about its values. A failure of class `user` may be due to the values, and one
 * of class `configuration` ends the tuning; any other end says nothing about them.
 */
export function outcomeOf({ job, curve, study, metricNames }: EndedTrial): TrialOutcome {
  const { state, cause, isStoppedEarly = false } = job.verdict;
  if (state !== 'SUCCEEDED') {
    const known = cause ?? causeOf('INTERNAL_ERROR', `Job ${job.jobId} ended without a cause.`);
    if (state === 'FAILED' && known.code === 'METRIC_NOT_FINITE') {
      return { kind: 'INFEASIBLE', reason: 'NOT_FINITE', message: known.message };
    }
    const isOfProgram = ['user', 'configuration'].includes(classOf(known));
    const isOwn = state === 'FAILED' && isOfProgram && !SURROUNDING_LABELS.includes(known.diagnosis?.label ?? '');
    return { kind: isOwn ? 'FAILED' : 'LOST', cause: known };
  }
  const reported = { curve, study, metricNames };
  const final = measurementOf(curve, study);
  if (final === null) {
    const message = `Job ${job.jobId} was stopped before it had reported the metric.`;
    return isStoppedEarly
      ? { kind: 'LOST', cause: causeOf('TRIAL_STOPPED', message) }
      : { kind: 'INFEASIBLE', ...missingMetric(reported) };
  }
  const infeasibility = findInfeasibility(final, reported);
  if (infeasibility !== null) {
    return { kind: 'INFEASIBLE', ...infeasibility };
  }
  const [objective = 0, ...furtherObjectives] = objectivesOf(final, { curve, study }).map((value) => value ?? 0);
  return { kind: 'SUCCEEDED', objective, furtherObjectives, final, isStoppedEarly };
}

/**
 * The measurement that counts: the last or the best, as the study selects, of a trial that was stopped early as of any
 * other: its last one is that of the model that it has saved. With several objectives, the last with any of them,
 * because no measurement is the best one. Its value is not finite if LAST selects such a one, or if there is no other.
 * Null if the metric was never reported.
 */
export function measurementOf(curve: Curve | undefined, study: Study): Measurement | null {
  const metrics = objectiveMetricsOf(study);
  const points = (curve?.points ?? []).filter(({ values }) => metrics.some(({ id }) => values[id] !== undefined));
  const last = points.at(-1) ?? null;
  if (metrics.length > 1 || study.measurement === 'LAST') {
    return last;
  }
  const costed = points.flatMap((point) => {
    const objective = objectiveOf(point, study);
    return objective === null ? [] : [{ point, cost: costOfObjective(objective, study) }];
  });
  const [first, ...others] = costed;
  return first === undefined ? last : others.reduce((best, each) => (each.cost < best.cost ? each : best), first).point;
}

/** The values to optimize, in the study's order: of the measurement or, if it lacks one, the last before it. */
export function objectivesOf(final: Measurement, { curve, study }: Measured): readonly (number | null)[] {
  return objectiveMetricsOf(study).map((metric) => {
    return finiteOrNull(valueAt(final, metric, curve));
  });
}

/** The value to optimize, or the first of several; null if it is missing or not finite. */
export function objectiveOf({ values }: Measurement, study: Pick<Study, 'metrics'>): number | null {
  return finiteOrNull(values[objectiveMetricOf(study).id]);
}

/** The value that is minimized: the objective, or its negative if it is to be maximized. */
export function costOfObjective(objective: number, study: Pick<Study, 'metrics'>): number {
  return objectiveMetricOf(study).goal === 'MINIMIZE' ? objective : 0 - objective;
}

type Measured = { readonly curve: Curve | undefined; readonly study: Study };

type Infeasibility = { readonly reason: InfeasibleReason; readonly message: string };

type Reported = Omit<EndedTrial, 'job'>;

/** Why the values of a trial cannot be ranked; null if they can. */
function findInfeasibility(final: Measurement, reported: Reported): Infeasibility | null {
  const { curve, study } = reported;
  const values = study.metrics.map((metric) => ({ metric, value: valueAt(final, metric, curve) }));
  const broken = values.find(
    ({ metric, value }) => metric.safety === null && value !== undefined && finiteOrNull(value) === null,
  );
  if (broken !== undefined) {
    const message = `The metric ${quote(broken.metric.id)} was ${broken.value} at step ${final.step}.`;
    return { reason: 'NOT_FINITE', message };
  }
  if (values.some(({ value }) => value === undefined)) {
    return missingMetric(reported);
  }
  const unsafe = values.find(({ metric, value }) => !isSafe(metric, value));
  if (unsafe === undefined) {
    return null;
  }
  const { metric, value } = unsafe;
  const message = `The safety metric ${quote(metric.id)} was ${value}; its threshold is ${metric.safety?.threshold}.`;
  return { reason: 'UNSAFE', message };
}

function missingMetric({ curve, study, metricNames }: Reported): Infeasibility {
  const missing = study.metrics.find(({ id }) => !curve?.points.some(({ values }) => values[id] !== undefined));
  const { id } = missing ?? objectiveMetricOf(study);
  return { reason: 'METRIC_MISSING', message: describeMissing(id, metricNames) };
}

/** The value of the measurement that counts or, if it lacks this metric, the last one before it. */
function valueAt({ step, values }: Measurement, { id }: Metric, curve: Curve | undefined): MetricValue | undefined {
  const before = curve?.points.findLast((point) => point.step <= step && point.values[id] !== undefined);
  return values[id] ?? before?.values[id];
}

function finiteOrNull(value: MetricValue | undefined): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The threshold is safe; a value that is not finite is not. */
function isSafe({ goal, safety }: Metric, value: MetricValue | undefined): boolean {
  if (safety === null || typeof value !== 'number') {
    return safety === null;
  }
  return goal === 'MAXIMIZE' ? value >= safety.threshold : value <= safety.threshold;
}

/** Programs choose the names of their metrics: a message contains some of them. */
const SHOWN_NAMES_MAX = 20;
const SHOWN_NAME_CHARACTERS_MAX = 64;

/** Comparing takes about 0.1 ms a name; a heartbeat has room for thousands, and each attempt for others. */
const COMPARED_NAMES_MAX = 1_000;

function describeMissing(id: string, metricNames: readonly string[]): string {
  const names = metricNames.map((name) => quote(name.slice(0, SHOWN_NAME_CHARACTERS_MAX)));
  const reported = listFirst(names, SHOWN_NAMES_MAX) || 'no metric at all';
  const nearest = nearestName(id, metricNames.slice(0, COMPARED_NAMES_MAX));
  const hint = nearest === undefined ? '' : ` Did you mean ${quote(nearest)}?`;
  return `The program ended without reporting the metric ${quote(id)}; it reported ${reported}.${hint}`;
}

function quote(name: string): string {
  return JSON.stringify(name);
}

/** The costs of a trial; undefined if it has none, since it has not ended or did not succeed. */
export function costsOfOutcome(outcome: TrialOutcome | null, study: Pick<Study, 'metrics'>): Costs | undefined {
  if (outcome?.kind !== 'SUCCEEDED') {
    return undefined;
  }
  const goals = objectiveMetricsOf(study).map(({ goal }) => goal);
  return costsOf([outcome.objective, ...outcome.furtherObjectives], goals);
}
