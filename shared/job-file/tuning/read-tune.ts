import type { EarlyStoppingDraft, MetricDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { readFields } from '#shared/job-file/fields/table.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { type Fields, openMapping } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  hasValue,
  locationOfNode,
  readMappings,
  readText,
  readTextMap,
  reportWrongKind,
} from '#shared/job-file/parser/read-values.ts';
import { readShortName } from '#shared/job-file/parser/short-names.ts';
import { AUTOMATIC_STOPPING } from '#shared/job-file/tuning/read-hyperparameter-spec.ts';
import { readTuneParameters } from '#shared/job-file/tuning/read-tune-parameters.ts';
import { GOALS, STOPPING_RULES, TUNE_FIELDS } from '#shared/job-file/tuning/tune-fields.ts';

/**
 * Reads `tune` of Dropforge's own format; its short names become those of AI Platform's HyperparameterSpec.
 */
export function readTune(found: FoundNode | undefined, findings: Findings): StudyDraft | undefined {
  if (!hasValue(found, findings)) {
    return undefined;
  }
  const tune = openMapping(found, TUNE_FIELDS, findings);
  const location = locationOfNode(found);
  const target = {
    ...location,
    metrics: readMetrics(tune, location, findings),
    earlyStopping: readStopping(tune, findings),
    parameters: readTuneParameters(tune.parameters, findings),
    start: readMappings(tune.start, findings).map((entry) => ({
      ...locationOfNode(entry),
      values: readTextMap(entry, findings),
    })),
  };
  return readFields(tune, { table: TUNE_FIELDS, target }, findings);
}

/** `metric` with its `goal`, or `metrics`, a mapping of names to goals. */
function readMetrics(
  { metric, metrics, goal }: Fields<typeof TUNE_FIELDS>,
  location: { readonly path: string; readonly line: number },
  findings: Findings,
): readonly MetricDraft[] {
  const id = readText(metric, findings);
  const ownGoal = readShortName(goal, GOALS, findings);
  if (!hasValue(metrics, findings)) {
    const goalOfOne = ownGoal ?? { ...(id ?? location), value: GOALS.maximize };
    return [{ ...location, id, goal: goalOfOne }];
  }
  const other = id ?? ownGoal;
  if (other !== undefined) {
    const message = `${other.path} cannot be combined with ${metrics.path}.`;
    const remedy = `Remove it, and write ${metrics.path} with the goal of each metric.`;
    findings.problems.push({ code: 'METRIC_TWICE', message, remedy, ...locationOf(other) });
  }
  if (metrics.node.kind !== 'MAPPING') {
    reportWrongKind(metrics, 'a mapping of names to maximize or minimize', findings);
    return [];
  }
  return metrics.node.entries.map(({ key, line, value: node }) => {
    const path = `${metrics.path}.${key}`;
    const found = readShortName({ path, node }, GOALS, findings);
    return { path, line, id: { value: key, path, line }, goal: found };
  });
}

/** `stopping` names a rule; `earlyStopping` leaves it to Dropforge. */
function readStopping(
  { stopping, earlyStopping }: Fields<typeof TUNE_FIELDS>,
  findings: Findings,
): EarlyStoppingDraft | undefined {
  const rule = readShortName(stopping, STOPPING_RULES, findings);
  const automatic = AUTOMATIC_STOPPING.read(earlyStopping, findings);
  if (rule !== undefined && automatic !== undefined) {
    const message = `${rule.path} cannot be combined with ${automatic.rule.path}.`;
    const remedy = 'Remove one of the two.';
    findings.problems.push({ code: 'EARLY_STOPPING', message, remedy, ...locationOf(rule) });
  }
  switch (rule?.value) {
    case 'ASHA':
    case 'MEDIAN':
      return { rule: { ...rule, value: rule.value } };
    default:
      return automatic;
  }
}
