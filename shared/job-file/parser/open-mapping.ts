import { FINDINGS_COUNT_MAX, type Findings, type FormatNames } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, hasValue, isNull, reportWrongKind } from '#shared/job-file/parser/read-values.ts';
import { simplify } from '#shared/job-file/parser/short-names.ts';
import type { SourceEntry, SourceNode } from '#shared/job-file/parser/source-tree.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';
import { findReplacements } from '#shared/text/replaced-names.ts';

/**
 * How a field is handled. OUTPUT: written by the service; ignored. WITHOUT_EFFECT: ignored with a warning. UNSUPPORTED:
 * valid, but cannot be run; reported unless it has its default value. All others are read.
 */
export type FieldRule = FieldNames &
  (
    | { readonly use?: never }
    | { readonly use: 'OUTPUT' }
    | { readonly use: 'WITHOUT_EFFECT'; readonly because: string }
    | { readonly use: 'UNSUPPORTED'; readonly because: string; readonly remedy: string }
  );

type FieldNames = {
  /** Names of the field in other formats and tools. */
  readonly synonyms?: readonly string[];
  /** The documented type of values. */
  readonly type?: string;
  /** The reader of the field, if it has one of its own. */
  readonly read?: unknown;
};

/** The fields of a mapping, by their camelCase names. */
export type FieldRules = Readonly<Record<string, FieldRule>>;

/** A field that the reader of its mapping reads. */
export const READ = {} as const;
export const OUTPUT = { use: 'OUTPUT' } as const;

export function withoutEffect<Because extends string>(because: Because) {
  return { use: 'WITHOUT_EFFECT', because } as const;
}

/** In a message about a value of another kind. */
const FIELDS_SHOWN_MAX = 4;

/** The values of a mapping's fields, by name. */
export type Fields<Rules extends FieldRules> = { readonly [Name in keyof Rules]?: FoundNode };

/** Looks up names in several messages: `maxRunningTime` belongs to `trainingInput.scheduling`. */
export function createParentLookup(parents: readonly (readonly [string, FieldRules])[]): FormatNames['parentOf'] {
  return (name) => {
    const [first, ...others] = parents.filter(([, rules]) => Object.hasOwn(rules, name));
    return others.length === 0 ? first?.[0] : undefined;
  };
}

/**
 * Splits a mapping, which may be absent, into its fields and applies each field's rule. Accepts camelCase and
 * snake_case names.
 */
export function openMapping<Rules extends FieldRules>(
  found: FoundNode | undefined,
  rules: Rules,
  findings: Findings,
): Fields<Rules> {
  if (!hasValue(found, findings)) {
    return {};
  }
  const { node, path } = found;
  if (node.kind !== 'MAPPING') {
    const examples = Object.keys(rules).slice(0, FIELDS_SHOWN_MAX).join(', ');
    reportWrongKind(found, `a mapping of fields (${examples})`, findings);
    return {};
  }
  const fields = new Map<string, FoundNode>();
  let unknownCount = 0;
  for (const entry of node.entries) {
    const name = toCamelCase(entry.key);
    const location = { path: joinPath(path, name), line: entry.line };
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      unknownCount += 1;
      if (unknownCount <= FINDINGS_COUNT_MAX + 1) {
        findings.problems.push(describeUnknown(entry, { path, rules }, findings));
      }
    } else if (fields.has(name)) {
      const text = `${location.path} is set twice, in camelCase and in snake_case.`;
      findings.problems.push({ code: 'DUPLICATE_FIELD', message: text, remedy: 'Remove one of the two.', ...location });
    } else {
      fields.set(name, { path: location.path, node: entry.value });
      applyRule(rule, { ...location, value: entry.value }, findings);
    }
  }
  // The map has only names of `rules`, which its type cannot express.
  return Object.fromEntries(fields) as Fields<Rules>;
}

type Output = { readonly rules: FieldRules; readonly remedyOf: (names: readonly string[]) => string };

/** Warns once about a job as its service returned it, rather than about each of its output fields. */
export function warnOfOutput({ node, path }: FoundNode, { rules, remedyOf }: Output, findings: Findings): void {
  const isOutput = (name: string) => Object.hasOwn(rules, name) && rules[name]?.use === 'OUTPUT';
  const output = node.kind === 'MAPPING' ? node.entries.filter(({ key }) => isOutput(toCamelCase(key))) : [];
  const [first] = output;
  if (first !== undefined) {
    findings.warnings.push({
      code: 'JOB_RESOURCE',
      message: 'The file is a job as the service returned it; its output fields are ignored.',
      remedy: remedyOf(output.map(({ key }) => key)),
      path: joinPath(path, toCamelCase(first.key)),
      line: first.line,
    });
  }
}

/** Whether a field is present and not null. `{}` counts as a value: it can select one spec of a oneof. */
export function isSet(found: FoundNode | undefined): found is FoundNode {
  return found !== undefined && !isNull(found.node);
}

function applyRule(
  rule: FieldRule,
  field: { readonly path: string; readonly line: number; readonly value: SourceNode },
  findings: Findings,
): void {
  const { path, line, value } = field;
  if (rule.use === 'WITHOUT_EFFECT' && !isDefault(value)) {
    const message = `${path} has no effect: ${rule.because}.`;
    findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy: 'It can be removed.', path, line });
  }
  if (rule.use === 'UNSUPPORTED' && !isDefault(value)) {
    findings.unsupported.push({
      code: 'UNSUPPORTED_FIELD',
      message: `${path} is not supported: ${rule.because}.`,
      remedy: rule.remedy,
      path,
      line,
    });
  }
}

/** Whether a value is the default value of its type, which in proto3 means the same as an absent field. */
function isDefault(node: SourceNode): boolean {
  switch (node.kind) {
    case 'MAPPING':
      return node.entries.length === 0;
    case 'LIST':
      return node.items.length === 0;
    case 'SCALAR':
      return node.value === null || node.value === false || ['', '0'].includes(node.text);
  }
}

type Mapping = { readonly path: string; readonly rules: FieldRules };

function describeUnknown(entry: SourceEntry, { path: parentPath, rules }: Mapping, { names }: Findings): Problem {
  const path = joinPath(parentPath, entry.key);
  const location = { path, line: entry.line };
  const synonym = findSynonym(entry.key, rules, names);
  if (synonym !== undefined) {
    const text = `There is no field ${path} in Dropforge's own format.`;
    return { code: 'UNKNOWN_FIELD', message: text, remedy: `Write ${synonym}.`, ...location };
  }
  const parent = names?.parentOf(toCamelCase(entry.key));
  const correction =
    parent === undefined
      ? `${didYouMean(entry.key, Object.keys(rules))}Correct the name, or remove the field.`
      : `It belongs under ${parent}: move it there, and check its indentation.`;
  const remedy = findReplacements(path)[0] ?? correction;
  return { code: 'UNKNOWN_FIELD', message: `There is no field ${path}.`, remedy, ...location };
}

/** Ignores case, `-` and `_`: `jobID` and `job_id` are the same name. */
function findSynonym(key: string, rules: FieldRules, names: FormatNames | undefined): string | undefined {
  const simplified = simplify(key);
  const own = Object.entries(rules).find(([, { synonyms = [] }]) =>
    synonyms.some((one) => simplify(one) === simplified),
  );
  return own?.[0] ?? Object.entries(names?.synonyms ?? {}).find(([one]) => simplify(one) === simplified)?.[1];
}

export function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** `job_dir` becomes `jobDir`; keys that are neither camelCase nor snake_case are unchanged, and so unknown. */
export function toCamelCase(key: string): string {
  return /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(key)
    ? key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : key;
}
