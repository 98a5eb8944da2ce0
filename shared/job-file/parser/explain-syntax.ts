import type { Problem } from '#shared/protocol/problem.ts';

/** Longer lines are not explained; the limit bounds the time of pattern matching. */
const LINE_CHARACTERS_MAX = 500;

const WRITE_YAML = 'Write YAML, one field in a line, such as module: trainer.task.';

type Slip = readonly [pattern: RegExp, message: string, remedy: string];

const INDENTED: Slip = [
  /^/,
  'is indented further than the field above it, which has a value',
  'Indent fields that belong together alike.',
];

/** Mistakes that leave a text which is not a mapping of fields, the most certain first. Each is found in one line. */
const SLIPS: readonly Slip[] = [
  [/^(import|from|def|class) [\w.]+/, 'is Python: the file is a program', 'Pass a program with --package.'],
  [/^(#!|(FROM|RUN) \S)/, 'is that of a script or a Dockerfile', WRITE_YAML],
  [/^(\[[\w.-]+\]\s*$|[\w-]+ *= *\S)/, 'is TOML', WRITE_YAML],
  [/\{\{[^{}]*\}\}/, 'contains a placeholder in {{ }}', 'Replace it with a value.'],
  [/^ *(- )?[A-Za-z_]\w*:[^\s:/]/, 'has no space after the colon', 'Write a space there: module: trainer.task.'],
  [/[:,[-] *"[^"]*$|[:,[-] *'[^']*$/, 'opens a quotation mark that is not closed', 'Write the second one.'],
  [/[:-] *\[[^\]]*$/, 'opens a bracket that is not closed', 'Write the ] at the end of the list.'],
];

const FIELD = /^( *)(?:- )?[\w-]+:(?: |$)/;
const FIELD_WITH_VALUE = /^( *)(?:- )?[\w-]+: +[^\s|>&[{"'#]/;

/** The one mistake from which the errors of a parser follow, with its line; undefined if none of them is found. */
export function explainSyntax(text: string): Problem | undefined {
  const lines = text.split(/\r?\n/).map((line) => line.slice(0, LINE_CHARACTERS_MAX));
  const found = SLIPS.find(([pattern]) => lines.some((line) => pattern.test(line)));
  const indented = findIndented(lines);
  if (indented === 0 && found === undefined) {
    return undefined;
  }
  const [pattern, message, remedy] = indented > 0 || found === undefined ? INDENTED : found;
  const line = indented || lines.findIndex((one) => pattern.test(one)) + 1;
  return { code: 'NOT_YAML', message: `Line ${line} ${message}.`, remedy, line };
}

/** The number of the first line that is indented below a field with a value; 0 if there is none. */
function findIndented(lines: readonly string[]): number {
  let above = Number.POSITIVE_INFINITY;
  return (
    lines.findIndex((line) => {
      const isFound = (FIELD.exec(line)?.[1]?.length ?? 0) > above;
      above = line.trim() === '' ? above : (FIELD_WITH_VALUE.exec(line)?.[1]?.length ?? Number.POSITIVE_INFINITY);
      return isFound;
    }) + 1
  );
}
