import { type Located, locationOf } from '#shared/job-file/parser/findings.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { shortNameOf } from '#shared/protocol/resource-names.ts';
import { listFirst } from '#shared/text/list-first.ts';
import { nearestName } from '#shared/text/nearest-name.ts';

/** A name of a job file that the deployment does not list. */
export type Unlisted = {
  readonly code: string;
  readonly name: string;
  /** The message up to the names that are listed. */
  readonly what: string;
  readonly listed: readonly string[];
  /** The names of which one may be meant, if they are not those that are listed. */
  readonly candidates?: readonly string[];
  /** The missing line of the deployment's configuration, and what to do without it. */
  readonly remedy: string;
  readonly field: Located<unknown> | undefined;
};

/** In messages, at most. */
const LISTED_COUNT_MAX = 5;

/** The problem that the deployment does not list a name, with the line of its configuration that is missing. */
export function describeUnlisted({ code, name, what, listed, candidates = listed, remedy, field }: Unlisted): Problem {
  return {
    code,
    message: `${what} (${listingOf(listed)}).`,
    remedy: `${suggest(name, candidates)}${remedy}.`,
    ...(field && locationOf(field)),
  };
}

/** Names differ most in their last part, or in an address before the `@`. */
function suggest(name: string, listed: readonly string[]): string {
  const keyOf = (text: string) => shortNameOf(text.split('@')[0] ?? text);
  const nearest = nearestName(keyOf(name), listed.map(keyOf));
  const found = listed.find((one) => nearest !== undefined && keyOf(one) === nearest);
  return found === undefined ? '' : `Did you mean "${found}"? `;
}

export function listingOf(names: readonly string[]): string {
  return names.length === 0 ? 'none' : listFirst(names, LISTED_COUNT_MAX);
}
