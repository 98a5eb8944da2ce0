import { FINDINGS_COUNT_MAX, type Findings } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, isEmpty, refuseKind } from '#shared/job-file/parser/read-values.ts';
import type { SourceEntry, SourceNode } from '#shared/job-file/parser/source-tree.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/**
 * What becomes of a field. OUTPUT: written by the service, passed over. WITHOUT_EFFECT: changes nothing here, which is
 * said. UNSUPPORTED: right, but nothing that can be run, unless it is set to nothing.
 */
export type FieldRule =
  | { readonly use: 'READ' }
  | { readonly use: 'OUTPUT' }
  | { readonly use: 'WITHOUT_EFFECT'; readonly because: string }
  | { readonly use: 'UNSUPPORTED'; readonly because: string; readonly remedy: string };

/** The fields of one message of the API, by their names in camelCase. */
export type FieldRules = Readonly<Record<string, FieldRule>>;

/** The fields that are to be read, by their names. */
export type Fields<Rules extends FieldRules> = {
  readonly [Name in keyof Rules as Rules[Name] extends { use: 'READ' } ? Name : never]?: FoundNode;
};

export type Message<Rules extends FieldRules> = {
  readonly rules: Rules;
  /** Where names belong that are known, but not here: `maxRunningTime` to `trainingInput.scheduling`. */
  readonly homeOf: (name: string) => string | undefined;
};

/** Sorts a mapping's fields by the message's rules; both camelCase and snake_case are understood. */
export function openMapping<Rules extends FieldRules>(
  { node, path }: FoundNode,
  { rules, homeOf }: Message<Rules>,
  findings: Findings,
): Fields<Rules> {
  if (isEmpty(node, path, findings)) {
    return {};
  }
  if (node.kind !== 'MAPPING') {
    refuseKind({ node, path }, 'a mapping of fields', findings);
    return {};
  }
  const fields = new Map<string, FoundNode>();
  let unknownCount = 0;
  for (const entry of node.entries) {
    const name = toCamelCase(entry.key);
    const place = { path: joinPath(path, name), line: entry.line };
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      unknownCount += 1;
      if (unknownCount <= FINDINGS_COUNT_MAX + 1) {
        findings.problems.push(unknownField(entry, path, { known: Object.keys(rules), home: homeOf(name) }));
      }
    } else if (fields.has(name)) {
      const message = `${place.path} is said twice, in camelCase and in snake_case.`;
      findings.problems.push({ code: 'DUPLICATE_FIELD', message, remedy: 'Remove one of the two.', ...place });
    } else {
      fields.set(name, { path: place.path, node: entry.value });
      judge(rule, { ...place, value: entry.value }, findings);
    }
  }
  // The map holds just what the rules name; that is more than its type can say.
  return Object.fromEntries(fields) as Fields<Rules>;
}

function judge(rule: FieldRule, field: { path: string; line: number; value: SourceNode }, findings: Findings): void {
  const { path, line, value } = field;
  if (rule.use === 'WITHOUT_EFFECT' && !isUnset(value)) {
    const message = `${path} has no effect: ${rule.because}.`;
    findings.warnings.push({ code: 'FIELD_WITHOUT_EFFECT', message, remedy: 'It can be removed.', path, line });
  }
  if (rule.use === 'UNSUPPORTED' && !isUnset(value)) {
    findings.unsupported.push({
      code: 'UNSUPPORTED_FIELD',
      message: `${path} is not supported: ${rule.because}.`,
      remedy: rule.remedy,
      path,
      line,
    });
  }
}

/** Values that mean the same as saying nothing, as in proto3. */
function isUnset(node: SourceNode): boolean {
  switch (node.kind) {
    case 'MAPPING':
      return node.entries.length === 0;
    case 'LIST':
      return node.items.length === 0;
    case 'SCALAR':
      return node.value === null || node.value === false || ['', '0'].includes(node.text);
  }
}

function unknownField(
  entry: SourceEntry,
  path: string,
  hints: { readonly known: readonly string[]; readonly home: string | undefined },
) {
  const own = joinPath(path, entry.key);
  const remedy =
    hints.home === undefined
      ? `${didYouMean(entry.key, hints.known)}Correct the name, or remove the field.`
      : `It belongs under ${hints.home}: move it there, and see to its indentation.`;
  return { code: 'UNKNOWN_FIELD', message: `There is no field ${own}.`, remedy, path: own, line: entry.line };
}

function joinPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

/** `job_dir` is `jobDir`; what is neither camelCase nor snake_case stays as it is, and unknown. */
export function toCamelCase(key: string): string {
  return /^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(key)
    ? key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : key;
}
