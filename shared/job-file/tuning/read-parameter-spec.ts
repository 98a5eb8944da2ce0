import type { ConditionalParameterDraft, ParameterDraft } from '#shared/job-file/draft/study-draft.ts';
import { number, TEXT, textList } from '#shared/job-file/fields/kind.ts';
import { nested, type Row, readFields, type Table } from '#shared/job-file/fields/table.ts';
import type { Findings } from '#shared/job-file/parser/findings.ts';
import { type Fields, isSet, openMapping, READ, withoutEffect } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, locationOfNode, readMappings, readTextList } from '#shared/job-file/parser/read-values.ts';
import { inParameter } from '#shared/job-file/tuning/study-targets.ts';

type Kind = 'DOUBLE' | 'INTEGER' | 'CATEGORICAL' | 'DISCRETE';

const DEFAULT_VALUE = withoutEffect('tuning jobs do not support it, on Vertex AI either');

const RANGE_FIELDS = {
  minValue: inParameter('min', number()),
  maxValue: inParameter('max', number()),
  defaultValue: DEFAULT_VALUE,
} as const satisfies Table<ParameterDraft>;

const VALUES_FIELDS = {
  values: inParameter('values', textList()),
  defaultValue: DEFAULT_VALUE,
} as const satisfies Table<ParameterDraft>;

/** All fields of Vertex AI's ParameterSpec (`google.cloud.aiplatform.v1`, study.proto). */
export const PARAMETER_FIELDS = {
  parameterId: inParameter('id', TEXT),
  scaleType: inParameter('scale', TEXT),
  doubleValueSpec: valueSpec('DOUBLE', RANGE_FIELDS),
  integerValueSpec: valueSpec('INTEGER', RANGE_FIELDS),
  categoricalValueSpec: valueSpec('CATEGORICAL', VALUES_FIELDS),
  discreteValueSpec: valueSpec('DISCRETE', VALUES_FIELDS),
  conditionalParameterSpecs: {
    read: (parameter, found, findings) => ({
      ...parameter,
      children: readMappings(found, findings).flatMap(
        (child) => readConditional(child, parameter.kind?.value, findings) ?? [],
      ),
    }),
  },
} as const satisfies Table<ParameterDraft>;

/** All fields of its ConditionalParameterSpec. */
export const CONDITION_FIELDS = {
  parentDiscreteValues: READ,
  parentIntValues: READ,
  parentCategoricalValues: READ,
  parameterSpec: READ,
} as const;

/** ConditionalParameterSpec's field with the parent's values; there is none for a DOUBLE. */
const PARENT_FIELDS: Readonly<Record<string, string>> = {
  INTEGER: 'parentIntValues',
  CATEGORICAL: 'parentCategoricalValues',
  DISCRETE: 'parentDiscreteValues',
};

/**
 * The value spec determines the kind. Of further ones, which are reported, only categories are read, also to report.
 */
function valueSpec(kind: Kind, table: Table<ParameterDraft>): Row<ParameterDraft> {
  const { read } = nested(table);
  return {
    read: (parameter, found, findings) => {
      if (parameter.kind !== undefined && kind !== 'CATEGORICAL') {
        openMapping(found, table, findings);
        return parameter;
      }
      const changed = read(parameter, found, findings);
      return parameter.kind === undefined && isSet(found)
        ? { ...changed, kind: { value: kind, ...locationOfNode(found) } }
        : { ...parameter, values: parameter.values ?? changed.values };
    },
  };
}

/** Reads a ParameterSpec; it must have exactly one value spec (a oneof). */
export function readParameter(found: FoundNode, findings: Findings): ParameterDraft {
  const fields = openMapping(found, PARAMETER_FIELDS, findings);
  checkValueSpecs(found, fields, findings);
  const target = { ...locationOfNode(found), children: [] };
  return readFields(fields, { table: PARAMETER_FIELDS, target }, findings);
}

function checkValueSpecs(found: FoundNode, fields: Fields<typeof PARAMETER_FIELDS>, findings: Findings): void {
  const { doubleValueSpec, integerValueSpec, categoricalValueSpec, discreteValueSpec } = fields;
  const specs = [doubleValueSpec, integerValueSpec, categoricalValueSpec, discreteValueSpec].filter(isSet);
  const [first, second] = specs;
  if (found.node.kind === 'MAPPING' && (first === undefined || second !== undefined)) {
    findings.problems.push({
      code: 'PARAMETER_SPACE',
      message:
        first === undefined
          ? `${found.path} does not specify its values.`
          : `${found.path} has ${specs.length} value specs; a parameter has one.`,
      remedy: 'Write one of doubleValueSpec, integerValueSpec, categoricalValueSpec and discreteValueSpec.',
      path: found.path,
      line: (second ?? found).node.line,
    });
  }
}

function readConditional(
  found: FoundNode,
  parentKind: string | undefined,
  findings: Findings,
): ConditionalParameterDraft | undefined {
  const { parameterSpec, ...conditions } = openMapping(found, CONDITION_FIELDS, findings);
  const setConditions = Object.entries(conditions).filter(([, condition]) => isSet(condition));
  if (found.node.kind !== 'MAPPING') {
    return undefined;
  }
  checkCondition(found, { parentKind, names: setConditions.map(([name]) => name) }, findings);
  const values = setConditions.flatMap(
    ([, condition]) => readTextList(openMapping(condition, { values: READ }, findings).values, findings) ?? [],
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
  { parentKind, names }: { readonly parentKind: string | undefined; readonly names: readonly string[] },
  findings: Findings,
): void {
  const expected = parentKind === undefined ? undefined : PARENT_FIELDS[parentKind];
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
