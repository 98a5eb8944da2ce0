import type { ConditionalParameterDraft, ParameterDraft } from '#shared/job-file/draft/study-draft.ts';
import type { Findings, Located } from '#shared/job-file/parser/findings.ts';
import { type Fields, isSet, openMapping, openOptional } from '#shared/job-file/parser/open-mapping.ts';
import {
  type FoundNode,
  readMappings,
  readNumber,
  readText,
  readTextList,
} from '#shared/job-file/parser/read-values.ts';
import {
  CONDITIONAL_PARAMETER_SPEC,
  PARAMETER_SPEC,
  PARENT_VALUES,
  RANGE_SPEC,
  VALUES_SPEC,
} from '#shared/job-file/tuning/study-spec-fields.ts';

type ParameterFields = Fields<typeof PARAMETER_SPEC.rules>;
type Kind = 'DOUBLE' | 'INTEGER' | 'CATEGORICAL' | 'DISCRETE';

/** ConditionalParameterSpec's field with the parent's values; there is none for a DOUBLE. */
const PARENT_FIELDS = {
  INTEGER: 'parentIntValues',
  CATEGORICAL: 'parentCategoricalValues',
  DISCRETE: 'parentDiscreteValues',
} as const;

/** Reads a list of ParameterSpecs (study.proto); undefined if absent or empty. */
export function readParameters(
  found: FoundNode | undefined,
  findings: Findings,
): readonly ParameterDraft[] | undefined {
  const parameters = readMappings(found, findings);
  return parameters.length === 0 ? undefined : parameters.map((parameter) => readParameter(parameter, findings));
}

function readParameter(found: FoundNode, findings: Findings): ParameterDraft {
  const parameter = openMapping(found, PARAMETER_SPEC, findings);
  const kind = readKind(found, parameter, findings);
  const [double, integer] = [parameter.doubleValueSpec, parameter.integerValueSpec].map((spec) =>
    openOptional(spec, RANGE_SPEC, findings),
  );
  const [categorical, discrete] = [parameter.categoricalValueSpec, parameter.discreteValueSpec].map((spec) =>
    openOptional(spec, VALUES_SPEC, findings),
  );
  const range = kind?.value === 'INTEGER' ? integer : double;
  const list = kind?.value === 'DISCRETE' ? discrete : categorical;
  return {
    path: found.path,
    line: found.node.line,
    id: readText(parameter.parameterId, findings),
    kind,
    min: readNumber(range?.minValue, findings),
    max: readNumber(range?.maxValue, findings),
    values: readTextList(list?.values, findings),
    scale: readText(parameter.scaleType, findings),
    children: readMappings(parameter.conditionalParameterSpecs, findings).flatMap(
      (child) => readConditional(child, kind?.value, findings) ?? [],
    ),
  };
}

/** The value spec, of which there must be exactly one (a oneof), determines the kind. */
function readKind(found: FoundNode, fields: ParameterFields, findings: Findings): Located<Kind> | undefined {
  if (found.node.kind !== 'MAPPING') {
    return undefined;
  }
  const specs = (
    [
      ['DOUBLE', fields.doubleValueSpec],
      ['INTEGER', fields.integerValueSpec],
      ['CATEGORICAL', fields.categoricalValueSpec],
      ['DISCRETE', fields.discreteValueSpec],
    ] as const
  ).flatMap(([value, spec]) => (isSet(spec) ? [{ value, path: spec.path, line: spec.node.line }] : []));
  const [first, second] = specs;
  if (first === undefined || second !== undefined) {
    findings.problems.push({
      code: 'PARAMETER_SPACE',
      message:
        first === undefined
          ? `${found.path} does not specify its values.`
          : `${found.path} has ${specs.length} value specs; a parameter has one.`,
      remedy: 'Write one of doubleValueSpec, integerValueSpec, categoricalValueSpec and discreteValueSpec.',
      path: found.path,
      line: second?.line ?? found.node.line,
    });
  }
  return first;
}

function readConditional(
  found: FoundNode,
  parentKind: Kind | undefined,
  findings: Findings,
): ConditionalParameterDraft | undefined {
  const { parameterSpec, ...conditions } = openMapping(found, CONDITIONAL_PARAMETER_SPEC, findings);
  const setConditions = Object.entries(conditions).filter(([, condition]) => isSet(condition));
  if (found.node.kind !== 'MAPPING') {
    return undefined;
  }
  checkCondition(found, { parentKind, names: setConditions.map(([name]) => name) }, findings);
  const values = setConditions.flatMap(
    ([, condition]) => readTextList(openOptional(condition, PARENT_VALUES, findings).values, findings) ?? [],
  );
  if (!isSet(parameterSpec)) {
    findings.problems.push({
      code: 'MISSING_FIELD',
      message: `${found.path} has no parameterSpec.`,
      remedy: 'Write the conditional parameter under parameterSpec.',
      path: `${found.path}.parameterSpec`,
      line: found.node.line,
    });
    return undefined;
  }
  return { path: found.path, parentValues: values, parameter: readParameter(parameterSpec, findings) };
}

/** The condition is a oneof that must match the parent's kind; a parent without a kind is reported elsewhere. */
function checkCondition(
  { path, node }: FoundNode,
  { parentKind, names }: { readonly parentKind: Kind | undefined; readonly names: readonly string[] },
  findings: Findings,
): void {
  const expected = parentKind === undefined || parentKind === 'DOUBLE' ? undefined : PARENT_FIELDS[parentKind];
  if (parentKind === undefined || (names.length === 1 && names[0] === expected)) {
    return;
  }
  findings.problems.push({
    code: 'PARENT_VALUES',
    message:
      expected === undefined
        ? `${path} depends on a parameter of type DOUBLE, which has no discrete values to depend on.`
        : `${path} must specify the values of its parent, a parameter of type ${parentKind}, with ${expected} only.`,
    remedy:
      expected === undefined
        ? 'Make the parent discrete or categorical, or remove the condition.'
        : `Write ${expected} with a list of values.`,
    path,
    line: node.line,
  });
}
