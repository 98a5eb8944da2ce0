import { UsageFailure } from '#cli/core/failure.ts';
import type { ObjectName } from '#shared/ports/object-store.ts';
import { didYouMeanUri, parseGsUri } from '#shared/protocol/gs-uri.ts';
import { escapeRegExp } from '#shared/text/escape-reg-exp.ts';

export function isGsUri(text: string): boolean {
  return text.startsWith('gs://');
}

/** Parses the URI of an object, prefix or (with an empty name) bucket. Throws UsageFailure if it is invalid. */
export function readGsUri(text: string): ObjectName {
  const uri = parseGsUri(text);
  if (uri.bucket === '') {
    const other = /^(?!gs:)\w+:\/\//i.test(text) ? 'an address in Cloud Storage' : 'a valid Cloud Storage URI';
    throw new UsageFailure(`'${text}' is not ${other}: use gs://BUCKET/OBJECT.${didYouMeanUri(text)}`);
  }
  return uri;
}

/** Whether the name has wildcards: as in `gcloud storage`, `**` also matches across folders, unlike `*`, `?`, `[…]`. */
export function isPattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** The literal prefix shared by all names that the pattern matches. */
export function literalPrefixOf(pattern: string): string {
  return pattern.slice(0, pattern.search(/[*?[]/));
}

export function matchesPattern(name: string, pattern: string): boolean {
  const parts = pattern.split(/(\*\*|\*|\?|\[[^\]]+\])/).map((part) => WILDCARDS[part] ?? toRegExp(part));
  return new RegExp(`^${parts.join('')}$`, 's').test(name);
}

const WILDCARDS: Readonly<Record<string, string>> = { '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** Sets such as `[a-c]` have the same syntax in regular expressions, except for the negation `[!x]`. */
function toRegExp(part: string): string {
  const set = /^\[(!?)([^\]]+)\]$/.exec(part);
  return set === null ? escapeRegExp(part) : `[${set[1] === '!' ? '^' : ''}${(set[2] ?? '').replaceAll('\\', '\\\\')}]`;
}

/** Adds a trailing slash, unless the name is empty (the whole bucket). */
export function folderOf(name: string): string {
  return name === '' || name.endsWith('/') ? name : `${name}/`;
}
