import type { PackageReport } from '#shared/package/inspect-package.ts';
import { normalizeName, printableRequirement } from '#shared/package/metadata/core-metadata.ts';
import { evaluateMarker } from '#shared/package/metadata/marker.ts';

/** A requirement of a package that applies to the VM. */
export type Requirement = {
  /** The requirement as written, printable. */
  readonly shown: string;
  /** Lower case, with `-` for `_` and `.` (PyPA, "Names and normalization"). */
  readonly name: string;
  readonly extras: readonly string[];
  /** `>=2.1,<3`, or ''. */
  readonly specifier: string;
  /** The URL after `@`, or ''. */
  readonly url: string;
  /** Whether it certainly applies: it is in the metadata, and its marker, if any, is known to hold. */
  readonly isCertain: boolean;
  /** The requirements file that contains it; undefined for metadata. */
  readonly path: string | undefined;
};

/** Name and extras, followed by a URL or versions; other lines are not requirements. */
const NAME = /^(?<name>[A-Za-z0-9][\w.-]*)[ \t]*(?:\[(?<extras>[^\]]*)\])?(?<rest>.*)$/;
const REST = /^[ \t]*(?:@[ \t]*(?<url>\S+)|\(?(?<specifier>[~=!<>][^()]*)\)?)?$/;

const REQUIREMENT_CHARACTERS_MAX = 500;
/** Requirements of one package; exported files list a few hundred. */
export const REQUIREMENT_COUNT_MAX = 1_000;

type File = { readonly path: string; readonly text: string };

/** The requirements files of a package and of the program in it; null if one of them was not read. */
export function requirementFilesOf({ evidence, programOf }: PackageReport, module: string): readonly File[] | null {
  const files = [...evidence.requirementFiles, ...programOf(module).requirementFiles];
  const read = files.flatMap(({ path, text }) => (text === null ? [] : [{ path, text }]));
  return read.length < files.length ? null : [...new Map(read.map((file) => [file.path, file])).values()];
}

/** The applicable requirements of a package, from its metadata and from files that its build reads. */
export function requirementsOf(
  report: PackageReport,
  { pythonVersion, program }: { readonly pythonVersion: string | null; readonly program: { readonly module: string } },
): Requirement[] {
  const needed = report.programOf(program.module).requirements;
  const own = [...new Set([...report.requirements, ...needed])].map((text) =>
    readRequirement(text, { pythonVersion, path: undefined }),
  );
  const files = requirementFilesOf(report, program.module) ?? report.evidence.requirementFiles;
  const read = files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .slice(0, REQUIREMENT_COUNT_MAX)
      .map((line) => readRequirement(line.replace(/\s--hash.*|\\$/, ''), { pythonVersion, path })),
  );
  return [...own.slice(0, REQUIREMENT_COUNT_MAX), ...read].filter((requirement) => requirement !== null);
}

type Origin = Pick<Requirement, 'path'> & { readonly pythonVersion: string | null };

function readRequirement(line: string, { pythonVersion, path }: Origin): Requirement | null {
  const text = withoutComment(line);
  // After a URL, which may contain semicolons, a marker must be preceded by a space.
  const separator = text.includes('@') ? text.indexOf(' ;') : text.indexOf(';');
  const parts = NAME.exec((separator < 0 ? text : text.slice(0, separator)).trim())?.groups;
  const rest = REST.exec(parts?.rest ?? '')?.groups;
  const applies = separator < 0 ? true : evaluateMarker(text.slice(separator).replace(/^\s*;/, ''), pythonVersion);
  if (parts === undefined || rest === undefined || applies === false) {
    return null;
  }
  return {
    shown: printableRequirement(text),
    name: normalizeName(parts.name ?? ''),
    extras: (parts.extras ?? '').split(',').map((extra) => normalizeName(extra.trim())),
    specifier: rest.specifier?.trim() ?? '',
    url: rest.url ?? '',
    isCertain: applies === true && path === undefined,
    path,
  };
}

/** The line of a requirements file, or a requirement, without its comment; at most REQUIREMENT_CHARACTERS_MAX of it. */
export function withoutComment(line: string): string {
  return line
    .slice(0, REQUIREMENT_CHARACTERS_MAX)
    .replace(/(?:^|\s)#.*/, '')
    .trim();
}
