import { HYPERPARAMETERS, PARAMETER } from '#shared/job-file/formats/ai-platform/fields.ts';
import { type Findings, type Located, placeOf } from '#shared/job-file/parser/findings.ts';
import { openMapping } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  readInteger,
  readMappings,
  readNumber,
  readText,
  readTextList,
} from '#shared/job-file/parser/read-values.ts';
import { readAutomaticStopping } from '#shared/job-file/tuning/read-automatic-stopping.ts';
import type { ParameterDraft, StudyDraft } from '#shared/job-file/tuning/study-draft.ts';

/**
 * Reads AI Platform's HyperparameterSpec. An empty mapping is no tuning, as nothing is. There is always one metric:
 * the service has a tag for those who name none (`training/hptuning/metric`).
 */
export function readHyperparameters(found: FoundNode | undefined, findings: Findings): StudyDraft | undefined {
  if (found === undefined) {
    return undefined;
  }
  const { node, path } = found;
  const spec = openMapping(found, HYPERPARAMETERS, findings);
  if (node.kind !== 'MAPPING' || node.entries.length === 0) {
    return undefined;
  }
  const parameters = readMappings(spec.params, findings).map((parameter) => readParameter(parameter, findings));
  const { line } = node;
  const metric = {
    path,
    line,
    id: readText(spec.hyperparameterMetricTag, findings),
    goal: readText(spec.goal, findings),
    safetyThreshold: undefined,
    safeTrialsFractionMin: undefined,
  };
  return {
    path,
    line,
    metrics: [metric],
    algorithm: readText(spec.algorithm, findings),
    maxTrials: readInteger(spec.maxTrials, findings),
    parallelTrials: readInteger(spec.maxParallelTrials, findings),
    maxFailedTrials: readInteger(spec.maxFailedTrials, findings),
    earlyStopping: readAutomaticStopping(spec.enableTrialEarlyStopping, findings),
    stopping: undefined,
    measurement: undefined,
    parameters: parameters.length === 0 ? undefined : parameters,
    resumeJobId: readText(spec.resumePreviousJobId, findings),
  };
}

function readParameter(found: FoundNode, findings: Findings): ParameterDraft {
  const parameter = openMapping(found, PARAMETER, findings);
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

/** The list that belongs to the type; where the type has none, whichever is there, so that it can be judged. */
function chooseValues(
  kind: Located<string> | undefined,
  lists: { readonly CATEGORICAL: Texts; readonly DISCRETE: Texts },
  findings: Findings,
): Texts {
  if (kind?.value !== 'CATEGORICAL' && kind?.value !== 'DISCRETE') {
    return lists.CATEGORICAL ?? lists.DISCRETE;
  }
  const [stray] = (kind.value === 'DISCRETE' ? lists.CATEGORICAL : lists.DISCRETE) ?? [];
  if (stray !== undefined) {
    const path = stray.path.replace(/\[\d+\]$/, '');
    findings.warnings.push({
      code: 'FIELD_WITHOUT_EFFECT',
      message: `${path} has no effect: the parameter's type is ${kind.value}.`,
      remedy: 'Remove it, or correct the type.',
      ...placeOf({ ...stray, path }),
    });
  }
  return lists[kind.value];
}

/** A bound in quotes is taken for the number that it reads as, which is what the service does. */
function readBound(found: FoundNode | undefined, findings: Findings): Located<number> | undefined {
  const bound = readNumber(found, findings);
  if (bound !== undefined && found?.node.kind === 'SCALAR' && typeof found.node.value === 'string') {
    findings.warnings.push({
      code: 'NUMBER_AS_TEXT',
      message: `${bound.path} is text that reads as a number; it is taken for ${bound.value}.`,
      remedy: 'Write the number without quotes.',
      ...placeOf(bound),
    });
  }
  return bound;
}
