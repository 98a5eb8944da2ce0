import type { EarlyStoppingDraft, ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import { type Findings, type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import { openMapping, type ParentLookup } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  readBoolean,
  readInteger,
  readMappings,
  readNumber,
  readText,
  readTextList,
} from '#shared/job-file/parser/read-values.ts';
import { HYPERPARAMETER_FIELDS, PARAMETER_FIELDS } from '#shared/job-file/tuning/hyperparameter-spec-fields.ts';

/**
 * Reads AI Platform's HyperparameterSpec; undefined if it is absent or empty. There is always one metric: the service
 * has a default tag (`training/hptuning/metric`). `parentOf` knows the other fields of the job.
 */
export function readHyperparameterSpec(
  found: FoundNode | undefined,
  parentOf: ParentLookup,
  findings: Findings,
): StudyDraft | undefined {
  if (found === undefined) {
    return undefined;
  }
  const { node, path } = found;
  const spec = openMapping(found, { rules: HYPERPARAMETER_FIELDS, parentOf }, findings);
  if (node.kind !== 'MAPPING' || node.entries.length === 0) {
    return undefined;
  }
  const parameters = readMappings(spec.params, findings).map((parameter) =>
    readParameter(parameter, parentOf, findings),
  );
  const location = { path, line: node.line };
  const metric = {
    ...location,
    id: readText(spec.hyperparameterMetricTag, findings),
    goal: readText(spec.goal, findings),
  };
  return {
    ...location,
    metrics: [metric],
    algorithm: readText(spec.algorithm, findings),
    maxTrials: readInteger(spec.maxTrials, findings),
    parallelTrials: readInteger(spec.maxParallelTrials, findings),
    maxFailedTrials: readInteger(spec.maxFailedTrials, findings),
    earlyStopping: readAutomaticStopping(spec.enableTrialEarlyStopping, findings),
    parameters: parameters.length === 0 ? undefined : parameters,
    resumeJobId: readText(spec.resumePreviousJobId, findings),
    maxCostUsd: readNumber(spec.dropforgeMaxCost, findings),
  };
}

function readParameter(found: FoundNode, parentOf: ParentLookup, findings: Findings): ParameterDraft {
  const parameter = openMapping(found, { rules: PARAMETER_FIELDS, parentOf }, findings);
  const kind = readText(parameter.type, findings);
  const categories = readTextList(parameter.categoricalValues, findings);
  const numbers = readTextList(parameter.discreteValues, findings);
  return {
    path: found.path,
    line: found.node.line,
    id: readText(parameter.parameterName, findings),
    kind,
    min: readBound(parameter.minValue, findings),
    max: readBound(parameter.maxValue, findings),
    values: chooseValues(kind, { CATEGORICAL: categories, DISCRETE: numbers }, findings),
    scale: readText(parameter.scaleType, findings),
    children: [],
  };
}

type Texts = readonly Located<string>[] | undefined;

/**
 * The list that belongs to the type; if the type has none, whichever list is present, so that it is still validated.
 */
function chooseValues(
  kind: Located<string> | undefined,
  lists: { readonly CATEGORICAL: Texts; readonly DISCRETE: Texts },
  findings: Findings,
): Texts {
  if (kind?.value !== 'CATEGORICAL' && kind?.value !== 'DISCRETE') {
    return lists.CATEGORICAL ?? lists.DISCRETE;
  }
  const [ignored] = (kind.value === 'DISCRETE' ? lists.CATEGORICAL : lists.DISCRETE) ?? [];
  if (ignored !== undefined) {
    const path = ignored.path.replace(/\[\d+\]$/, '');
    findings.warnings.push({
      code: 'FIELD_WITHOUT_EFFECT',
      message: `${path} has no effect: the parameter's type is ${kind.value}.`,
      remedy: 'Remove it, or correct the type.',
      ...locationOf({ ...ignored, path }),
    });
  }
  return lists[kind.value];
}

/** A bound in quotes is read as a number, as the service does. */
function readBound(found: FoundNode | undefined, findings: Findings): Located<number> | undefined {
  const bound = readNumber(found, findings);
  if (bound !== undefined && found?.node.kind === 'SCALAR' && typeof found.node.value === 'string') {
    findings.warnings.push({
      code: 'NUMBER_AS_TEXT',
      message: `${bound.path} is text that looks like a number; it is read as ${bound.value}.`,
      remedy: 'Write the number without quotes.',
      ...locationOf(bound),
    });
  }
  return bound;
}

/** Early stopping as a boolean that leaves the rule to the service: in AI Platform and in Dropforge's own format. */
export function readAutomaticStopping(
  found: FoundNode | undefined,
  findings: Findings,
): EarlyStoppingDraft | undefined {
  const isEnabled = readBoolean(found, findings);
  return isEnabled?.value === true ? { rule: { ...isEnabled, value: 'AUTOMATIC' } } : undefined;
}
