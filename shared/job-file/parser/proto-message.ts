import type { Findings } from '#shared/job-file/parser/findings.ts';
import { type FieldRules, type Fields, type Message, openMapping } from '#shared/job-file/parser/open-mapping.ts';
import type { FoundNode } from '#shared/job-file/parser/read-values.ts';

export const READ = { use: 'READ' } as const;
export const OUTPUT = { use: 'OUTPUT' } as const;

export function withoutEffect<Because extends string>(because: Because) {
  return { use: 'WITHOUT_EFFECT', because } as const;
}

/** Where a name is at home, for those that have slipped out of their mapping; names of several homes have none. */
export function homeFinder(homes: readonly (readonly [string, FieldRules])[]): (name: string) => string | undefined {
  return (name) => {
    const [first, ...others] = homes.filter(([, rules]) => Object.hasOwn(rules, name));
    return others.length === 0 ? first?.[0] : undefined;
  };
}

export function vertexMessage<const Rules extends FieldRules>(
  rules: Rules,
  homeOf: (name: string) => string | undefined,
): Message<Rules> {
  return { rules, homeOf };
}

/** The fields of what may not be there at all. */
export function openOptional<Rules extends FieldRules>(
  found: FoundNode | undefined,
  message: Message<Rules>,
  findings: Findings,
): Fields<Rules> {
  return found === undefined ? {} : openMapping(found, message, findings);
}

/** Whether a field is there with a value. `null` is none; `{}` is one, by which a spec can be chosen among several. */
export function isSaid(found: FoundNode | undefined): found is FoundNode {
  return found !== undefined && !isNothing(found);
}

/** Whether a value is `null`, as YAML has it where nothing stands after a colon. */
export function isNothing({ node }: FoundNode): boolean {
  return node.kind === 'SCALAR' && node.value === null;
}
