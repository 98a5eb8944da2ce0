import type { ConditionalParameterDraft, ParameterDraft } from '#shared/job-file/draft/study-draft.ts';
import { readFields } from '#shared/job-file/fields/table.ts';
import { type Findings, type Located, locationOf, type SourceLocation } from '#shared/job-file/parser/findings.ts';
import { openMapping } from '#shared/job-file/parser/open-mapping.ts';
import { type FoundNode, hasValue, readTextList, reportWrongKind } from '#shared/job-file/parser/read-values.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import type { SourceNode } from '#shared/job-file/parser/source-tree.ts';
import { PARAMETERS_COUNT_MAX } from '#shared/job-file/tuning/check-parameters.ts';
import { PARAMETER_FIELDS, PARAMETER_TYPES } from '#shared/job-file/tuning/tune-fields.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

const INTEGER_PATTERN = /^[+-]?\d+$/;

/** A parameter, and the parameter on whose values it depends. */
type FlatParameter = { readonly id: string; readonly draft: ParameterDraft; readonly condition: Condition | undefined };

type Condition = SourceLocation & { readonly parentId: string; readonly values: FoundNode };

/**
 * Reads the parameters of `tune`, a mapping of names to ranges or lists. Conditional ones, which refer to their parent
 * by name, are nested in it, as in Vertex AI's StudySpec. Undefined if absent or empty.
 */
export function readTuneParameters(
  found: FoundNode | undefined,
  findings: Findings,
): readonly ParameterDraft[] | undefined {
  if (!hasValue(found, findings)) {
    return undefined;
  }
  if (found.node.kind !== 'MAPPING') {
    reportWrongKind(found, 'a mapping of names to ranges or lists', findings);
    return undefined;
  }
  const parameters = found.node.entries.flatMap(({ key, line, value: node }) => {
    const id = { value: key, path: `${found.path}.${key}`, line };
    return readParameter({ path: id.path, node }, id, findings) ?? [];
  });
  return found.node.entries.length === 0 ? undefined : nestConditional(parameters, findings);
}

function readParameter(found: FoundNode, id: Located<string>, findings: Findings): FlatParameter | undefined {
  if (!hasValue(found, findings)) {
    return undefined;
  }
  const blank = { ...locationOf(id), id, children: [] };
  if (found.node.kind === 'LIST') {
    const kind = { ...id, value: kindOfValues(found.node) };
    const draft = { ...blank, kind, values: readValues(found, kind.value, findings) };
    return { id: id.value, draft, condition: undefined };
  }
  if (found.node.kind === 'SCALAR') {
    reportWrongKind(found, 'a list of values, or a mapping of min and max', findings);
    return undefined;
  }
  const fields = openMapping(found, PARAMETER_FIELDS, findings);
  const inferred =
    fields.values === undefined ? kindOfBounds(fields.min, fields.max) : kindOfValues(fields.values.node);
  const target = { ...blank, kind: { ...id, value: inferred } };
  const read = readFields<ParameterDraft>(fields, { table: PARAMETER_FIELDS, target }, findings);
  const values = readValues(fields.values, read.kind?.value ?? inferred, findings);
  return { id: id.value, draft: { ...read, values }, condition: readCondition(fields.when, findings) };
}

/** Reads `when: { PARENT: VALUES }`. */
function readCondition(found: FoundNode | undefined, findings: Findings): Condition | undefined {
  if (!hasValue(found, findings)) {
    return undefined;
  }
  const { node, path } = found;
  if (node.kind !== 'MAPPING') {
    reportWrongKind(found, 'a mapping of a parameter to its values', findings);
    return undefined;
  }
  const [entry, second] = node.entries;
  if (entry === undefined || second !== undefined) {
    const message = `${path} names ${node.entries.length} parameters; a condition has one.`;
    const remedy = 'Write one parameter with its values, such as when: { optimizer: momentum }.';
    findings.problems.push({ code: 'PARENT_VALUES', message, remedy, path, line: second?.line ?? node.line });
    return undefined;
  }
  const values = { path: `${path}.${entry.key}`, node: entry.value };
  return { parentId: entry.key, values, path, line: entry.line };
}

/** Moves parameters with a condition into their parents. A condition that cannot hold is reported and ignored. */
function nestConditional(parameters: readonly FlatParameter[], findings: Findings): readonly ParameterDraft[] {
  if (parameters.length > PARAMETERS_COUNT_MAX) {
    // Reported by the check of the study; bounds the depth.
    return parameters.map(({ draft }) => draft);
  }
  const byId = new Map(parameters.map((parameter) => [parameter.id, parameter]));
  const checked = parameters.map((one) => ({ ...one, condition: checkCondition(one, byId, findings) }));
  const withChildren = ({ id, draft }: FlatParameter): ParameterDraft => ({
    ...draft,
    children: checked.flatMap((child): readonly ConditionalParameterDraft[] =>
      child.condition?.parentId === id
        ? [
            {
              path: child.condition.path,
              parentValues: readParentValues(child.condition.values, draft.kind?.value ?? '', findings),
              parameter: withChildren(child),
            },
          ]
        : [],
    ),
  });
  return checked.filter(({ condition }) => condition === undefined).map(withChildren);
}

function checkCondition(
  { id, condition }: FlatParameter,
  byId: ReadonlyMap<string, FlatParameter>,
  findings: Findings,
): Condition | undefined {
  if (condition === undefined) {
    return undefined;
  }
  if (!byId.has(condition.parentId)) {
    const message = `${condition.path} refers to ${quote(condition.parentId)}, which is not a parameter.`;
    const remedy = `${didYouMean(condition.parentId, [...byId.keys()])}Write the name of another parameter.`;
    findings.problems.push({ code: 'UNKNOWN_PARAMETER', message, remedy, ...locationOf(condition) });
    return undefined;
  }
  if (isCyclic(id, byId)) {
    const message = `${condition.path} makes ${quote(id)} depend on itself.`;
    const remedy = 'Remove one of the conditions.';
    findings.problems.push({ code: 'CYCLIC_CONDITION', message, remedy, ...locationOf(condition) });
    return undefined;
  }
  return condition;
}

/** Whether a parameter, or one that it depends on, depends on itself. */
function isCyclic(id: string, byId: ReadonlyMap<string, FlatParameter>): boolean {
  const seen = new Set<string>();
  for (let next: string | undefined = id; next !== undefined; next = byId.get(next)?.condition?.parentId) {
    if (seen.has(next)) {
      return true;
    }
    seen.add(next);
  }
  return false;
}

function readParentValues(found: FoundNode, kind: string, findings: Findings): readonly Located<string>[] {
  const { node } = found;
  const list: FoundNode =
    node.kind === 'SCALAR' ? { ...found, node: { ...LIST, items: [node], line: node.line } } : found;
  return readValues(list, kind, findings) ?? [];
}

const LIST = { kind: 'LIST' } as const;

/** Numbers of discrete and integer parameters are normalized, so that they print as they were read. */
function readValues(
  found: FoundNode | undefined,
  kind: string,
  findings: Findings,
): readonly Located<string>[] | undefined {
  const hasNumbers = kind === PARAMETER_TYPES.discrete || kind === PARAMETER_TYPES.integer;
  if (found?.node.kind !== 'LIST' || !hasNumbers) {
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

/**
 * Bounds without a point or an exponent are integers; but 0 and 1 are those of a fraction, such as a dropout, of which
 * an integer would try the ends alone.
 */
function kindOfBounds(...bounds: readonly (FoundNode | undefined)[]): string {
  const areIntegers = bounds.every((found) => found?.node.kind === 'SCALAR' && INTEGER_PATTERN.test(found.node.text));
  const isFraction = bounds.map((found) => found?.node.kind === 'SCALAR' && found.node.text).join() === '0,1';
  return areIntegers && !isFraction ? PARAMETER_TYPES.integer : PARAMETER_TYPES.double;
}
