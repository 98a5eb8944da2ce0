import type { Metric, Study } from '#shared/domain/study.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import type { MetricDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, locationOf, reportInvalid, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import { hasProblemAt, quote } from '#shared/job-file/parser/record-findings.ts';
import { chooseMeaning, GOALS } from '#shared/job-file/tuning/study-enums.ts';

/** HyperparameterSpec.hyperparameterMetricTag, where none is said. */
const METRIC_TAG_DEFAULT = 'training/hptuning/metric';

/** Far more than one search can weigh against one another. */
const METRICS_COUNT_MAX = 100;

/** What trials are judged by; null where something is missing or wrong, which is then among the findings. */
export function checkMetrics(study: StudyDraft, dialect: Dialect, findings: Findings): Study['metrics'] | null {
  if (study.metrics.length > METRICS_COUNT_MAX) {
    const message = `The study has ${study.metrics.length} metrics; it may have ${METRICS_COUNT_MAX}.`;
    const remedy = 'Keep those that trials are to be judged by.';
    findings.problems.push({ code: 'TOO_MANY_METRICS', message, remedy, path: `${study.path}.metrics` });
    return null;
  }
  const [first, ...others] = study.metrics.map((metric) => checkMetric(metric, dialect, findings));
  if (first === undefined) {
    tellMissing(
      { path: `${study.path}.metrics`, ...(study.line !== undefined && { line: study.line }) },
      { message: 'The study has no metric to judge trials by.', remedy: 'Write metrics, with a metricId and a goal.' },
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
    // StudySpec.MetricSpec.safety_config: what is kept safe is not what is optimised.
    const message = 'All metrics have a safetyConfig, and none is left to be optimised.';
    const remedy = 'Add the metric that is to be maximised or minimised.';
    findings.problems.push({ code: 'METRIC_MISSING', message, remedy, ...placeOfDraft(study.metrics[0] ?? study) });
    return null;
  }
  return metrics;
}

function checkMetric(metric: MetricDraft, dialect: Dialect, findings: Findings): Metric | null {
  const id = checkId(metric, dialect, findings);
  const goal = checkGoal(metric, dialect, findings);
  const safety = checkSafety(metric, findings);
  return id === null || goal === null || safety === 'WRONG' ? null : { id, goal, safety };
}

function checkId(metric: MetricDraft, dialect: Dialect, findings: Findings): string | null {
  const { id } = metric;
  if (id === undefined || id.value.trim() === '') {
    return completeId(metric, dialect, findings);
  }
  // Vertex AI alone says so; TensorFlow's tags may have blanks.
  const isLegal = dialect === 'vertex-ai' ? !/[\s\p{Cc}\p{Cs}]/u.test(id.value) : !/[\p{Cc}\p{Cs}]/u.test(id.value);
  if (isLegal) {
    return id.value;
  }
  const message = `${quote(id.value)} can be no metric's name.`;
  reportInvalid(
    id,
    { code: 'INVALID_METRIC_ID', message, remedy: 'Write a name without blanks, such as accuracy.' },
    findings,
  );
  return null;
}

function completeId(metric: MetricDraft, dialect: Dialect, findings: Findings): string | null {
  const place = placeOfDraft(metric);
  switch (dialect) {
    case 'ai-platform': {
      const message = `No metric is named: trials are judged by ${METRIC_TAG_DEFAULT}.`;
      const remedy = 'Write hyperparameterMetricTag, as the program reports it.';
      const path = `${metric.path}.hyperparameterMetricTag`;
      findings.warnings.push({ code: 'DEFAULT_METRIC_TAG', message, remedy, ...place, path });
      return METRIC_TAG_DEFAULT;
    }
    case 'vertex-ai':
      tellMissing(
        { ...place, path: `${metric.path}.metricId` },
        { message: `${metric.path} has no metricId.`, remedy: 'Write the name that the program reports it under.' },
        findings,
      );
      return null;
    case 'dropforge': {
      const path = `${metric.path}.metric`;
      const remedy = 'Write the name of what the program reports, such as accuracy.';
      findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, ...place, path });
      return null;
    }
  }
}

/** Required by Vertex AI; AI Platform maximises where nothing is said. */
function checkGoal(metric: MetricDraft, dialect: Dialect, findings: Findings): Metric['goal'] | null {
  if (metric.goal !== undefined) {
    return chooseMeaning(metric.goal, { meanings: GOALS, code: 'UNKNOWN_GOAL' }, findings);
  }
  if (dialect !== 'vertex-ai') {
    return 'MAXIMIZE';
  }
  const words = { message: `${metric.path} has no goal.`, remedy: 'Write goal: MAXIMIZE or goal: MINIMIZE.' };
  tellMissing({ ...placeOfDraft(metric), path: `${metric.path}.goal` }, words, findings);
  return null;
}

/** StudySpec.MetricSpec.SafetyMetricConfig: the fraction is one of 0 to 1, and 0 where nothing is said. */
function checkSafety(metric: MetricDraft, findings: Findings): Metric['safety'] | 'WRONG' {
  const { safetyThreshold, safeTrialsFractionMin } = metric;
  const fraction = safeTrialsFractionMin?.value ?? 0;
  if (safeTrialsFractionMin !== undefined && !(fraction >= 0 && fraction <= 1)) {
    const message = `${safeTrialsFractionMin.path} must be 0 to 1, but is ${fraction}.`;
    const remedy = 'Write the part of the trials that must be safe, such as 0.9.';
    const place = locationOf(safeTrialsFractionMin);
    findings.problems.push({ code: 'INVALID_SAFE_FRACTION', message, remedy, ...place });
    return 'WRONG';
  }
  return safetyThreshold === undefined && safeTrialsFractionMin === undefined
    ? null
    : { threshold: safetyThreshold?.value ?? 0, safeTrialsFractionMin: fraction };
}

function checkIds(metrics: readonly MetricDraft[], findings: Findings): void {
  const seen = new Set<string>();
  for (const { id } of metrics) {
    if (id !== undefined && seen.has(id.value)) {
      const message = `There are two metrics ${quote(id.value)}.`;
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

/** What no flag can add is wrong where it is missing; unless it is there and could not be read. */
function tellMissing(
  place: SourceLocation,
  words: { readonly message: string; readonly remedy: string },
  findings: Findings,
): void {
  if (!hasProblemAt(place.path, findings)) {
    findings.problems.push({ code: 'METRIC_MISSING', ...words, ...place });
  }
}

function placeOfDraft({ path, line }: { readonly path: string; readonly line: number | undefined }): SourceLocation {
  return line === undefined ? { path } : { path, line };
}
