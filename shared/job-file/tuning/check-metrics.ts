import type { Metric, Study } from '#shared/domain/study.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import type { MetricDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf, reportInvalid, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { isReservedName } from '#shared/job-file/tuning/reserved-names.ts';
import { GOALS, resolveAlias } from '#shared/job-file/tuning/study-enums.ts';

/** The default of HyperparameterSpec.hyperparameterMetricTag. */
const METRIC_TAG_DEFAULT = 'training/hptuning/metric';

/** Limit on the metrics of which an agent reports the history, safety metrics included. */
const METRICS_COUNT_MAX = 20;

/** Measurements carry the names of their metrics. */
const METRIC_ID_CHARACTERS_MAX = 128;

/** The metrics of trials; null if one is missing or invalid. */
export function checkMetrics(study: StudyDraft, dialect: Dialect, findings: Findings): Study['metrics'] | null {
  if (study.metrics.length > METRICS_COUNT_MAX) {
    const message = `The study has ${study.metrics.length} metrics; the maximum is ${METRICS_COUNT_MAX}.`;
    const remedy = 'Keep only the metrics to optimize.';
    findings.problems.push({ code: 'TOO_MANY_METRICS', message, remedy, path: `${study.path}.metrics` });
    return null;
  }
  const [first, ...others] = study.metrics.map((metric) => checkMetric(metric, dialect, findings));
  if (first === undefined) {
    rejectMissing(
      { ...locationOf(study), path: `${study.path}.metrics` },
      { message: 'The study has no metric.', remedy: 'Write metrics, with a metricId and a goal.' },
      findings,
    );
    return null;
  }
  checkIds(study.metrics, findings);
  if (first === null || others.some((metric) => metric === null)) {
    return null;
  }
  const metrics = [first, ...others.filter((metric) => metric !== null)] as const;
  if (metrics.every(({ safety }) => safety !== null)) {
    // StudySpec.MetricSpec.safety_config: safety metrics are not optimized.
    const message = 'All metrics have a safetyConfig, so there is none to optimize.';
    const remedy = 'Add the metric to maximize or minimize.';
    findings.problems.push({ code: 'METRIC_MISSING', message, remedy, ...locationOf(study.metrics[0] ?? study) });
    return null;
  }
  return metrics;
}

function checkMetric(metric: MetricDraft, dialect: Dialect, findings: Findings): Metric | null {
  const id = checkId(metric, dialect, findings);
  const goal = checkGoal(metric, dialect, findings);
  const safety = checkSafety(metric, findings);
  return id === null || goal === null || safety === 'INVALID' ? null : { id, goal, safety };
}

function checkId(metric: MetricDraft, dialect: Dialect, findings: Findings): string | null {
  const { id } = metric;
  if (id === undefined || id.value.trim() === '') {
    return completeId(metric, dialect, findings);
  }
  // Only Vertex AI disallows white space; TensorFlow tags may contain it.
  const isText = dialect === 'vertex-ai' ? !/[\s\p{Cc}\p{Cs}]/u.test(id.value) : !/[\p{Cc}\p{Cs}]/u.test(id.value);
  const isReserved = isReservedName(id.value);
  if (isText && !isReserved && id.value.length <= METRIC_ID_CHARACTERS_MAX) {
    return id.value;
  }
  const length = isReserved ? 'it is reserved' : `it is longer than ${METRIC_ID_CHARACTERS_MAX} characters`;
  const reason = isText ? length : 'it contains white space or control characters';
  const message = `${quote(id.value)} is not a valid metric name: ${reason}.`;
  reportInvalid(
    id,
    { code: 'INVALID_METRIC_ID', message, remedy: 'Write a name without spaces, such as accuracy.' },
    findings,
  );
  return null;
}

function completeId(metric: MetricDraft, dialect: Dialect, findings: Findings): string | null {
  const location = locationOf(metric);
  switch (dialect) {
    case 'ai-platform': {
      const message = `No metric is given: the study optimizes ${METRIC_TAG_DEFAULT}.`;
      const remedy = 'Write hyperparameterMetricTag, the name under which the program reports the metric.';
      const path = `${metric.path}.hyperparameterMetricTag`;
      findings.warnings.push({ code: 'DEFAULT_METRIC_TAG', message, remedy, ...location, path });
      return METRIC_TAG_DEFAULT;
    }
    case 'vertex-ai':
      rejectMissing(
        { ...location, path: `${metric.path}.metricId` },
        {
          message: `${metric.path} has no metricId.`,
          remedy: 'Write the name under which the program reports the metric.',
        },
        findings,
      );
      return null;
    case 'dropforge': {
      const path = `${metric.path}.metric`;
      const remedy = 'Write the name under which the program reports the metric, such as accuracy.';
      findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, ...location, path });
      return null;
    }
  }
}

/** Required by Vertex AI; AI Platform maximizes by default. */
function checkGoal(metric: MetricDraft, dialect: Dialect, findings: Findings): Metric['goal'] | null {
  if (metric.goal !== undefined) {
    return resolveAlias(metric.goal, { aliases: GOALS, code: 'UNKNOWN_GOAL' }, findings);
  }
  if (dialect !== 'vertex-ai') {
    return 'MAXIMIZE';
  }
  const text = { message: `${metric.path} has no goal.`, remedy: 'Write goal: MAXIMIZE or goal: MINIMIZE.' };
  rejectMissing({ ...locationOf(metric), path: `${metric.path}.goal` }, text, findings);
  return null;
}

/** StudySpec.MetricSpec.SafetyMetricConfig: the fraction is 0 to 1, by default 0. */
function checkSafety(metric: MetricDraft, findings: Findings): Metric['safety'] | 'INVALID' {
  const { safetyThreshold, safeTrialsFractionMin } = metric;
  const fraction = safeTrialsFractionMin?.value ?? 0;
  if (safeTrialsFractionMin !== undefined && !(fraction >= 0 && fraction <= 1)) {
    const message = `${safeTrialsFractionMin.path} must be 0 to 1, but is ${fraction}.`;
    const remedy = 'Write the fraction of trials that must be safe, such as 0.9.';
    const location = locationOf(safeTrialsFractionMin);
    findings.problems.push({ code: 'INVALID_SAFE_FRACTION', message, remedy, ...location });
    return 'INVALID';
  }
  if (safeTrialsFractionMin !== undefined && fraction > 0) {
    const message = `${safeTrialsFractionMin.path} is not guaranteed: unsafe trials are avoided, but not counted.`;
    const remedy = 'Remove it, or narrow the ranges to values that are known to be safe.';
    const location = locationOf(safeTrialsFractionMin);
    findings.warnings.push({ code: 'SAFE_FRACTION_NOT_GUARANTEED', message, remedy, ...location });
  }
  return safetyThreshold === undefined && safeTrialsFractionMin === undefined
    ? null
    : { threshold: safetyThreshold?.value ?? 0, safeTrialsFractionMin: fraction };
}

function checkIds(metrics: readonly MetricDraft[], findings: Findings): void {
  const seen = new Set<string>();
  for (const { id } of metrics) {
    if (id !== undefined && seen.has(id.value)) {
      const message = `The metric ${quote(id.value)} is listed twice.`;
      findings.problems.push({
        code: 'DUPLICATE_METRIC',
        message,
        remedy: 'Remove one of the two.',
        ...locationOf(id),
      });
    }
    seen.add(id?.value ?? '');
  }
}

/** Reports a missing field that no flag can add, unless it is present but unreadable. */
function rejectMissing(
  location: SourceLocation,
  text: { readonly message: string; readonly remedy: string },
  findings: Findings,
): void {
  if (!hasProblemAt(location.path, findings)) {
    findings.problems.push({ code: 'METRIC_MISSING', ...text, ...location });
  }
}
