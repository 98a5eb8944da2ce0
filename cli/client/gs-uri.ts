import { UsageFailure } from '#cli/core/failure.ts';

/** A bucket, and an object or a prefix in it; the empty name means the whole bucket. */
export type GsUri = { readonly bucket: string; readonly name: string };

export function isGsUri(text: string): boolean {
  return text.startsWith('gs://');
}

export function parseGsUri(text: string): GsUri {
  const match = /^gs:\/\/([^/]+)(?:\/(.*))?$/s.exec(text);
  if (match?.[1] === undefined) {
    throw new UsageFailure(`'${text}' is no Cloud Storage address: write gs://BUCKET/OBJECT.`);
  }
  return { bucket: match[1], name: match[2] ?? '' };
}

export function formatGsUri({ bucket, name }: GsUri): string {
  return `gs://${bucket}/${name}`;
}

/** `*`, `?` and `[…]` match within one folder, `**` across folders, as in `gcloud storage`. */
export function isPattern(name: string): boolean {
  return /[*?[]/.test(name);
}

/** What every name that the pattern matches begins with. */
export function literalPrefixOf(pattern: string): string {
  return pattern.slice(0, pattern.search(/[*?[]/));
}

export function matchesPattern(name: string, pattern: string): boolean {
  const parts = pattern.split(/(\*\*|\*|\?|\[[^\]]+\])/).map((part) => WILDCARDS[part] ?? matchLiterally(part));
  return new RegExp(`^${parts.join('')}$`, 's').test(name);
}

const WILDCARDS: Readonly<Record<string, string>> = { '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** A set such as `[a-c]` or `[!x]` is one in a regular expression, too, but for its negation. */
function matchLiterally(part: string): string {
  const set = /^\[(!?)([^\]]+)\]$/.exec(part);
  return set === null
    ? RegExp.escape(part)
    : `[${set[1] === '!' ? '^' : ''}${(set[2] ?? '').replaceAll('\\', '\\\\')}]`;
}

/** The name with a slash at its end, so that it can stand for a folder; the whole bucket stays empty. */
export function folderOf(name: string): string {
  return name === '' || name.endsWith('/') ? name : `${name}/`;
}
