import { type Findings, packageProblemOf, showPath } from '#shared/package/archive/package-problem.ts';
import { NO_METADATA, readCoreMetadata, readHeaderFields } from '#shared/package/metadata/core-metadata.ts';
import type { PackageFiles, Project } from '#shared/package/metadata/package-files.ts';
import { rootOf } from '#shared/package/metadata/package-root.ts';

/** What follows `name-version(-build)` in the name of a wheel: tags, each possibly several joined by dots (PEP 425, 427). */
const WHEEL_NAME =
  /^(?<name>[^\s-]+)-(?<version>[^\s-]+)(?:-\d[^\s-]*)?-(?<python>[^\s-]+)-(?<abi>[^\s-]+)-(?<platform>[^\s-]+)\.whl$/i;

/** Platforms that a Compute Engine VM with an x86-64 Linux can install. */
const SUITABLE_PLATFORM = /^(?:any|(?:many|musl)?linux.*_x86_64)$/;

/** Files of the dist-info directory that RECORD does not list (PEP 427, "signed wheel files"). */
const UNRECORDED = /\.dist-info\/RECORD(?:\.jws|\.p7s)?$/;

/** Reads a wheel: its name, its METADATA, WHEEL and RECORD, which must agree as pip and PEP 427 ask. */
export function readWheel(name: string, files: PackageFiles, findings: Findings): Project {
  const parts = WHEEL_NAME.exec(name)?.groups;
  if (parts === undefined) {
    findings.refuse(packageProblemOf('WHEEL_NAME_INVALID', `${showPath(name)} is no name of a wheel.`));
  } else if (!(parts.platform ?? '').split('.').some((platform) => SUITABLE_PLATFORM.test(platform))) {
    const message = `${showPath(name)} is built for ${parts.platform} and cannot be installed on the VM.`;
    findings.refuse(packageProblemOf('WHEEL_PLATFORM_UNSUITABLE', message));
  }
  const distInfo = findDistInfo(files, findings);
  const base = {
    roots: [rootOf(''), ...dataRootsOf(files)],
    declaredPackages: null,
    ignoredChecks: [],
    requirementFiles: [],
  };
  if (distInfo === null) {
    return { ...base, metadata: NO_METADATA, wheelTags: [] };
  }
  const metadata = readCoreMetadata(requireText(`${distInfo}/METADATA`, files, findings) ?? '');
  if (
    parts !== undefined &&
    metadata.name !== null &&
    normalizeName(metadata.name) !== normalizeName(parts.name ?? '')
  ) {
    const message = `${showPath(name)} holds the package ${showPath(metadata.name)}.`;
    findings.refuse(packageProblemOf('WHEEL_NAME_INVALID', message));
  }
  const record = requireText(`${distInfo}/RECORD`, files, findings);
  if (record !== null) {
    checkRecord(record, files, findings);
  }
  return { ...base, metadata, wheelTags: readTags(`${distInfo}/WHEEL`, files, findings) };
}

/** PEP 503: runs of `-`, `_` and `.` are one, and case does not count. */
function normalizeName(name: string): string {
  return name.replace(/[-_.]+/g, '-').toLowerCase();
}

function findDistInfo(files: PackageFiles, findings: Findings): string | null {
  const found = new Set(
    files.paths.map((path) => path.split('/')[0] ?? '').filter((name) => name.endsWith('.dist-info')),
  );
  const [first, ...others] = found;
  if (first === undefined || others.length > 0) {
    const message = `A wheel has one .dist-info directory; this one has ${found.size}.`;
    findings.refuse(packageProblemOf('WHEEL_METADATA_INVALID', message));
    return null;
  }
  return first;
}

function requireText(path: string, files: PackageFiles, findings: Findings): string | null {
  if (!files.has(path)) {
    findings.refuse(packageProblemOf('WHEEL_METADATA_INVALID', `The wheel has no ${files.pathOf(path)}.`, path));
  }
  return files.readText(path);
}

function readTags(path: string, files: PackageFiles, findings: Findings): readonly string[] {
  const text = requireText(path, files, findings);
  if (text === null) {
    return [];
  }
  const fields = readHeaderFields(text);
  const version = fields.get('wheel-version')?.[0] ?? '';
  if (!/^1\.\d+$/.test(version)) {
    const message = `${files.pathOf(path)} says Wheel-Version "${showPath(version)}"; installers read version 1.`;
    findings.refuse(packageProblemOf('WHEEL_METADATA_INVALID', message, path));
  }
  return fields.get('tag') ?? [];
}

/** "Installation will fail if any file in the archive is not both mentioned and correctly hashed in RECORD" (PEP 427). */
function checkRecord(record: string, files: PackageFiles, findings: Findings): void {
  const recorded = new Set(
    record
      .split(/\r?\n/)
      .filter((line) => line !== '')
      .map(readRecordPath),
  );
  const missing = [...recorded].filter((path) => !files.has(path));
  const unlisted = files.paths.filter((path) => !recorded.has(path) && !UNRECORDED.test(path));
  for (const [paths, what] of [
    [missing, 'lists what the wheel does not hold'],
    [unlisted, 'does not list what the wheel holds'],
  ] as const) {
    const [first] = paths;
    if (first !== undefined) {
      const message = `RECORD ${what}: ${paths.length} files, the first "${showPath(first)}".`;
      findings.refuse(packageProblemOf('WHEEL_RECORD_MISMATCH', message, first));
    }
  }
}

/** The first of three fields of a line of CSV; only paths with a comma or a quote are quoted. */
function readRecordPath(line: string): string {
  const quoted = /^"((?:[^"]|"")*)"/.exec(line)?.[1];
  return quoted?.replaceAll('""', '"') ?? line.replace(/,[^,]*,[^,]*$/, '');
}

/** Files below `NAME.data/purelib` and `platlib` are installed beside those of the wheel's root. */
function dataRootsOf(files: PackageFiles) {
  const found = new Set(files.paths.map((path) => /^[^/]+\.data\/(?:purelib|platlib)(?=\/)/.exec(path)?.[0]));
  return [...found].filter((directory) => directory !== undefined).map((directory) => rootOf(directory));
}
