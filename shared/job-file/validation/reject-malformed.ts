import {
  type Findings,
  type Located,
  PLACEHOLDER_CODE,
  placeOf,
  refuse,
  type Words,
} from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';

/** `BUCKET`, `PROJECT_ID`, `YOUR-BUCKET`: a word of capitals between signs that are none of a name. */
const CAPITALS_PATTERN = /(?<![A-Za-z0-9_-])[A-Z][A-Z0-9]+([_-][A-Z0-9]+)*(?![A-Za-z0-9_-])/;

/**
 * Refuses a value of which the part that matters, where it is right, is in small letters throughout: names of buckets,
 * images, accounts. A word of capitals in it is then what a manual left to be filled in, and said to be a placeholder.
 */
export function refuseSmall(
  located: Located<string>,
  { smallPart, ...words }: Words & { readonly smallPart: string },
  findings: Findings,
): void {
  const isMarked = findPlaceholder(located.value, located.path) !== undefined;
  const gap = isMarked ? undefined : CAPITALS_PATTERN.exec(smallPart)?.[0];
  if (gap === undefined) {
    refuse(located, words, findings);
    return;
  }
  findings.problems.push({
    code: PLACEHOLDER_CODE,
    message: `${located.path} still holds the placeholder ${gap}.`,
    remedy: 'Put the value in its place.',
    ...placeOf(located),
  });
}
