/** Stands for any lines if it is alone in its line, and for any text within one. */
const ELLIPSIS = '…';

/** Parts of an output that may differ from the page, and what matches them. Prices an hour and in a limit are compared as they are. */
const VARYING: readonly (readonly [token: string, match?: string])[] = [
  [String.raw`\$[\d.,]+(?= (?:per hour|an hour|in its limit))`],
  [String.raw`\bv\d+\.\d+\.\d+\b`, String.raw`v\d+\.\d+\.\d+`],
  [String.raw`\d{4}-\d\d-\d\d(?!\d)`, String.raw`\d{4}-\d\d-\d\d`],
  // Names of VMs, digests, and the suffixes of names.
  [String.raw`\bdf-[\w-]+`, String.raw`df-[\w-]+`],
  [String.raw`(?<![\da-z])(?=[a-z]*\d)[\da-f]{6,}(?![\da-z])`, '[\\da-f]{6,}'],
  [String.raw`\d{5,}`, String.raw`\d{4,}`],
  // A number that is not part of a name such as n1-standard-4, with its unit if that is of time or size.
  [
    String.raw`(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-])(?: (?:ms|s|min|h|B|KB|KiB|MB|MiB)\b)?(?: \d+ (?:s|min)\b)?`,
    String.raw`\d+(?:[.,]\d+)*(?: (?:ms|s|min|h|B|KB|KiB|MB|MiB)\b)?(?: \d+ (?:s|min)\b)?`,
  ],
  // A job is placed while it is submitted.
  [String.raw`\b(?:QUEUED|PREPARING)\b`, '(?:QUEUED|PREPARING)'],
  [' +', ' +'],
  [`(?:${ELLIPSIS})`, '.*'],
];

const TOKEN = new RegExp(VARYING.map(([token], index) => `(?<t${index}>${token})`).join('|'), 'g');

/** A pattern of all outputs that agree with the lines of a page. */
export function patternOf(lines: readonly string[]): RegExp {
  const parts = lines.map((line) => (line === ELLIPSIS ? '(?:.*\\n)*?' : `${patternOfLine(line)}\\n`));
  return new RegExp(`^${parts.join('')}$`);
}

function patternOfLine(line: string): string {
  let pattern = '';
  let end = 0;
  for (const { 0: text, index, groups } of line.matchAll(TOKEN)) {
    const [, match] = VARYING.find((_, at) => groups?.[`t${at}`] !== undefined) ?? [];
    pattern += RegExp.escape(line.slice(end, index)) + (match ?? RegExp.escape(text));
    end = index + text.length;
  }
  return pattern + RegExp.escape(line.slice(end));
}
