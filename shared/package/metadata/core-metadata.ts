import { printablePath } from '#shared/package/archive/package-problem.ts';

/** Metadata of a package; null or [] if it is missing or can be determined only by running code. */
export type ProjectMetadata = {
  readonly name: string | null;
  readonly version: string | null;
  readonly requiresPython: string | null;
  /** Requirements as written (PEP 508), without those of extras. */
  readonly requirements: readonly string[];
};

export const NO_METADATA: ProjectMetadata = { name: null, version: null, requiresPython: null, requirements: [] };

/** The header fields of PKG-INFO, METADATA or WHEEL by lowercase name, each with all values in order. */
export type HeaderFields = ReadonlyMap<string, readonly string[]>;

/**
 * Parses the header of a metadata file in email format (Core metadata specification, packaging.python.org): `Name:
 * value` lines up to the first empty line; a line that starts with white space continues the previous value.
 */
export function readHeaderFields(text: string): HeaderFields {
  const fields = new Map<string, string[]>();
  let values: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line === '') {
      break;
    }
    const colon = line.indexOf(':');
    if (/^\s/.test(line)) {
      values.push(`${values.pop() ?? ''}\n${line.trim()}`);
    } else if (colon > 0) {
      const name = line.slice(0, colon).toLowerCase();
      values = fields.get(name) ?? [];
      fields.set(name, values);
      values.push(line.slice(colon + 1).trim());
    }
  }
  return fields;
}

export function readCoreMetadata(text: string): ProjectMetadata {
  const fields = readHeaderFields(text);
  const one = (name: string) => {
    const value = fields.get(name)?.[0];
    return value === undefined || value === '' || value === 'UNKNOWN' ? null : value;
  };
  return {
    name: one('name'),
    version: one('version'),
    requiresPython: one('requires-python'),
    requirements: (fields.get('requires-dist') ?? []).filter((requirement) => !isOfExtra(requirement)),
  };
}

/** In `name; marker`, only the marker is matched: a pattern for both takes quadratic time on a malicious line. */
function isOfExtra(requirement: string): boolean {
  const semicolon = requirement.indexOf(';');
  return semicolon >= 0 && /\bextra\s*==/.test(requirement.slice(semicolon));
}

/** Merges metadata; earlier sources take precedence. */
export function mergeMetadata(sources: readonly ProjectMetadata[]): ProjectMetadata {
  return sources.reduce(
    (known, next) => ({
      name: known.name ?? next.name,
      version: known.version ?? next.version,
      requiresPython: known.requiresPython ?? next.requiresPython,
      requirements: known.requirements.length > 0 ? known.requirements : next.requirements,
    }),
    NO_METADATA,
  );
}

/** Lowercase, with runs of `-`, `_` and `.` replaced by `-` (PEP 503; PyPA, "Names and normalization"). */
export function normalizeName(name: string): string {
  return name.replace(/[-_.]+/g, '-').toLowerCase();
}

/** `tensorflow` of `tensorflow[and-cuda]==2.20.0`; '' if the text begins with no name. */
export function nameOfRequirement(text: string): string {
  return normalizeName(/^[A-Za-z0-9][\w.-]*/.exec(text)?.[0] ?? '');
}

/** Makes a requirement printable, without credentials in URLs. */
export function printableRequirement(text: string): string {
  return printablePath(text.replace(/\/\/[^/@\s]*@/g, '//…@').replace(/\?\S*/, '?…'));
}
