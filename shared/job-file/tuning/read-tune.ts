import type { ParameterDraft, StudyDraft } from '#shared/job-file/draft/study-draft.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import { openMapping, type ParentLookup } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  isEmpty,
  readInteger,
  readNumber,
  readText,
  readTextList,
  reportWrongKind,
} from '#shared/job-file/parser/read-values.ts';
import { readShortName } from '#shared/job-file/parser/short-names.ts';
import type { SourceNode } from '#shared/job-file/parser/source-tree.ts';
import { readAutomaticStopping } from '#shared/job-file/tuning/read-hyperparameter-spec.ts';
import {
  ALGORITHMS,
  GOALS,
  PARAMETER_MESSAGE,
  PARAMETER_TYPES,
  SCALES,
  TUNE_MESSAGE,
} from '#shared/job-file/tuning/tune-fields.ts';

const INTEGER_PATTERN = /^[+-]?\d+$/;

/**
 * Reads `tune` of Dropforge's own format; its short names become those of AI Platform's HyperparameterSpec. `parentOf`
 * knows the other fields of the job.
 */
export function readTune(found: FoundNode, parentOf: ParentLookup, findings: Findings): StudyDraft | undefined {
  if (isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const tune = openMapping(found, { ...TUNE_MESSAGE, parentOf }, findings);
  const location = { path: found.path, line: found.node.line };
  const id = readText(tune.metric, findings);
  return {
    ...location,
    metrics: [
      {
        ...location,
        id,
        goal: readShortName(tune.goal, GOALS, findings) ?? { ...(id ?? location), value: GOALS.maximize },
        safetyThreshold: undefined,
        safeTrialsFractionMin: undefined,
      },
    ],
    algorithm: readShortName(tune.algorithm, ALGORITHMS, findings),
    maxTrials: readInteger(tune.trials, findings),
    parallelTrials: readInteger(tune.parallel, findings),
    maxFailedTrials: undefined,
    earlyStopping: readAutomaticStopping(tune.earlyStopping, findings),
    stopping: undefined,
    measurement: undefined,
    parameters: readParameters(tune.parameters, parentOf, findings),
    resumeJobId: undefined,
  };
}

function readParameters(
  found: FoundNode | undefined,
  parentOf: ParentLookup,
  findings: Findings,
): readonly ParameterDraft[] | undefined {
  if (found === undefined || isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  if (found.node.kind !== 'MAPPING') {
    reportWrongKind(found, 'a mapping of names to ranges or lists', findings);
    return undefined;
  }
  const parameters = found.node.entries.flatMap(({ key, line, value: node }) => {
    const id = { value: key, path: `${found.path}.${key}`, line };
    return readParameter({ value: { path: id.path, node }, id }, parentOf, findings) ?? [];
  });
  return found.node.entries.length === 0 ? undefined : parameters;
}

type FoundParameter = { readonly value: FoundNode; readonly id: Located<string> };

function readParameter(
  { value: found, id }: FoundParameter,
  parentOf: ParentLookup,
  findings: Findings,
): ParameterDraft | undefined {
  if (isEmpty(found.node, found.path, findings)) {
    return undefined;
  }
  const blank = { path: found.path, line: id.line, id, min: undefined, max: undefined, scale: undefined, children: [] };
  if (found.node.kind === 'LIST') {
    const kind = { ...id, value: kindOfValues(found.node) };
    return { ...blank, kind, values: readValues(found, kind.value, findings) };
  }
  if (found.node.kind === 'SCALAR') {
    reportWrongKind(found, 'a list of values, or a mapping of min and max', findings);
    return undefined;
  }
  const fields = openMapping(found, { ...PARAMETER_MESSAGE, parentOf }, findings);
  const inferred =
    fields.values === undefined ? kindOfBounds(fields.min, fields.max) : kindOfValues(fields.values.node);
  const kind = readShortName(fields.type, PARAMETER_TYPES, findings) ?? { ...id, value: inferred };
  return {
    ...blank,
    kind,
    min: readNumber(fields.min, findings),
    max: readNumber(fields.max, findings),
    values: readValues(fields.values, kind.value, findings),
    scale: readShortName(fields.scale, SCALES, findings),
  };
}

/** Discrete numbers are normalized, so that they print as they were read. */
function readValues(
  found: FoundNode | undefined,
  kind: string,
  findings: Findings,
): readonly Located<string>[] | undefined {
  if (found?.node.kind !== 'LIST' || kind !== PARAMETER_TYPES.discrete) {
    return readTextList(found, findings);
  }
  const items = found.node.items.map((item) =>
    item.kind === 'SCALAR' && typeof item.value === 'number' ? { ...item, text: String(item.value) } : item,
  );
  return readTextList({ path: found.path, node: { ...found.node, items } }, findings);
}

/** Lists of numbers are discrete, all others categorical. */
function kindOfValues(node: SourceNode): string {
  const items = node.kind === 'LIST' ? node.items : [node];
  const areNumbers = items.every((item) => item.kind === 'SCALAR' && typeof item.value === 'number');
  return areNumbers && items.length > 0 ? PARAMETER_TYPES.discrete : PARAMETER_TYPES.categorical;
}

/** Bounds without a point or an exponent are integers. */
function kindOfBounds(...bounds: readonly (FoundNode | undefined)[]): string {
  const areIntegers = bounds.every((found) => found?.node.kind === 'SCALAR' && INTEGER_PATTERN.test(found.node.text));
  return areIntegers ? PARAMETER_TYPES.integer : PARAMETER_TYPES.double;
}
