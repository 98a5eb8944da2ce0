import { type Findings, type Located, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { type FoundNode, readText } from '#shared/job-file/parser/read-values.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** The values of an enumeration in Dropforge's own format, with the name that the draft has for each: AI Platform's. */
export type ShortNames = Readonly<Record<string, string>>;

/** The API's name of a short name; undefined if there is none. Ignores case, `-` and `_`. */
export function toApiName(text: string, names: ShortNames): string | undefined {
  return Object.entries(names).find(([name]) => simplify(name) === simplify(text))?.[1];
}

/** Reads a short name as its API name; undefined if it is unknown, which is reported. */
export function readShortName(
  found: FoundNode | undefined,
  names: ShortNames,
  findings: Findings,
): Located<string> | undefined {
  const text = readText(found, findings);
  if (text === undefined) {
    return undefined;
  }
  const apiName = toApiName(text.value, names);
  if (apiName !== undefined) {
    return { ...text, value: apiName };
  }
  const known = Object.keys(names);
  const message = `${text.path} cannot be "${text.value}".`;
  const remedy = `${didYouMean(text.value, known)}Write ${known.slice(0, -1).join(', ')} or ${known.at(-1)}.`;
  reportInvalid(text, { code: 'UNKNOWN_VALUE', message, remedy }, findings);
  return undefined;
}

/** The name as it is compared: without case, `-`, `_` and spaces. */
export function simplify(text: string): string {
  return text.toLowerCase().replaceAll(/[-_\s]/g, '');
}
