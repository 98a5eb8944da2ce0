import { showPath } from '#shared/package/archive/package-problem.ts';
import type { PackageReport } from '#shared/package/inspect-package.ts';
import { evaluateMarker } from '#shared/package/lint/marker.ts';

/** One thing that the packages ask pip for, as far as it applies to the VM. */
export type Requirement = {
  /** As it is written, cut and fit to be shown. */
  readonly shown: string;
  /** Lower case, with `-` for `_` and `.` (PyPA, "Names and normalization"). */
  readonly name: string;
  readonly extras: readonly string[];
  /** `>=2.1,<3`, or ''. */
  readonly specifier: string;
  /** What stands behind `@`, or ''. */
  readonly url: string;
  /** Whether pip will certainly read it: it is metadata of the package and its marker, if any, is known to hold. */
  readonly isSure: boolean;
  /** The file that it is from, where that is not the metadata of the package. */
  readonly path: string | null;
};

/** Name and extras, and behind them an address or versions; a line of another form is no requirement. */
const NAME = /^(?<name>[A-Za-z0-9][\w.-]*)[ \t]*(?:\[(?<extras>[^\]]*)\])?(?<rest>.*)$/;
const REST = /^[ \t]*(?:@[ \t]*(?<url>\S+)|\(?(?<specifier>[~=!<>][^()]*)\)?)?$/;

const REQUIREMENT_CHARACTERS_MAX = 500;
/** Requirements of one package; exported files list a few hundred. */
const REQUIREMENT_COUNT_MAX = 1_000;

/** All requirements of a package that apply, from its metadata and from the files that its build reads. */
export function requirementsOf({ requirements, evidence }: PackageReport, pythonVersion: string | null): Requirement[] {
  const own = requirements.map((text) => readRequirement(text, { pythonVersion, path: null }));
  const read = evidence.requirementFiles.flatMap(({ path, text }) =>
    text
      .split('\n')
      .slice(0, REQUIREMENT_COUNT_MAX)
      .map((line) => readRequirement(line.replace(/\s--hash.*|\\$/, ''), { pythonVersion, path })),
  );
  return [...own.slice(0, REQUIREMENT_COUNT_MAX), ...read].filter((requirement) => requirement !== null);
}

type Origin = Pick<Requirement, 'path'> & { readonly pythonVersion: string | null };

function readRequirement(line: string, { pythonVersion, path }: Origin): Requirement | null {
  const text = line
    .slice(0, REQUIREMENT_CHARACTERS_MAX)
    .replace(/(?:^|\s)#.*/, '')
    .trim();
  // A marker behind an address needs the space: an address may hold a semicolon.
  const separator = text.includes('@') ? text.indexOf(' ;') : text.indexOf(';');
  const parts = NAME.exec((separator < 0 ? text : text.slice(0, separator)).trim())?.groups;
  const rest = REST.exec(parts?.rest ?? '')?.groups;
  const applies = separator < 0 ? true : evaluateMarker(text.slice(separator).replace(/^\s*;/, ''), pythonVersion);
  if (parts === undefined || rest === undefined || applies === false) {
    return null;
  }
  return {
    shown: showRequirement(text),
    name: normalizeName(parts.name ?? ''),
    extras: (parts.extras ?? '').split(',').map((extra) => normalizeName(extra.trim())),
    specifier: rest.specifier?.trim() ?? '',
    url: rest.url ?? '',
    isSure: applies === true && path === null,
    path,
  };
}

/** As it may be shown: an address is without its user, password or token. */
export function showRequirement(text: string): string {
  return showPath(text.replace(/\/\/[^/@\s]*@/g, '//…@').replace(/\?\S*/, '?…'));
}

export function normalizeName(name: string): string {
  return name.replace(/[-_.]+/g, '-').toLowerCase();
}
