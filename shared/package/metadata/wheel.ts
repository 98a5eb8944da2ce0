import { type Architecture, COMPUTE_ARCHITECTURES } from '#shared/domain/architecture.ts';
import { type Findings, packageProblem, printablePath } from '#shared/package/archive/package-problem.ts';
import { normalizeName, readCoreMetadata, readHeaderFields } from '#shared/package/metadata/core-metadata.ts';
import { NO_PROJECT, type PackageFiles, type Project, rootOf } from '#shared/package/metadata/package-files.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** `name-version(-build)`, followed by three tags, each possibly several joined by dots (PEP 425, 427). */
const WHEEL_NAME =
  /^(?<name>[^\s-]+)-(?<version>[^\s-]+)(?:-\d[^\s-]*)?-(?<python>[^\s-]+)-(?<abi>[^\s-]+)-(?<platform>[^\s-]+)\.whl$/i;

/** Platform tags that some Linux VM can install; which of them the job's machines can is checked with the job. */
const SUITABLE_PLATFORM = /^(?:any|(?:many|musl)?linux.*_(?:x86_64|aarch64))$/;

/** Whether Linux on these processors can install a wheel with a tag, `cp311-cp311-manylinux_2_28_aarch64`. */
function fitsArchitecture(tag: string, architecture: Architecture): boolean {
  const machine = architecture === 'arm64' ? 'aarch64' : 'x86_64';
  return /-any$/.test(tag) || tag.endsWith(`_${machine}`);
}

/** The problem of a wheel, given by its tags, that is built for other processors than those of the job's machines. */
export function checkWheelArchitecture(
  { name, wheelTags }: { readonly name: string | null; readonly wheelTags: readonly string[] },
  architecture: Architecture,
): Problem[] {
  if (wheelTags.length === 0 || wheelTags.some((tag) => fitsArchitecture(tag, architecture))) {
    return [];
  }
  const machines = COMPUTE_ARCHITECTURES[architecture];
  const message = `The wheel of ${printablePath(name ?? 'the package')} is built for ${printablePath(wheelTags.slice(0, 3).join(', '))}, and the job's machines are ${machines}.`;
  return [packageProblem('WHEEL_PLATFORM_UNSUITABLE', message)];
}

/** Files of the dist-info directory that RECORD does not list (PEP 427, "signed wheel files"). */
const UNRECORDED = /\.dist-info\/RECORD(?:\.jws|\.p7s)?$/;

/** Reads a wheel's name, METADATA, WHEEL and RECORD, which must be consistent as pip and PEP 427 require. */
export function readWheel(name: string, files: PackageFiles, findings: Findings): Project {
  const parts = WHEEL_NAME.exec(name)?.groups;
  if (parts === undefined) {
    findings.addProblem(
      packageProblem('WHEEL_NAME_INVALID', `${printablePath(name)} is not a valid file name of a wheel.`),
    );
  } else if (!(parts.platform ?? '').split('.').some((platform) => SUITABLE_PLATFORM.test(platform))) {
    const message = `${printablePath(name)} is built for ${parts.platform} and cannot be installed on the VM.`;
    findings.addProblem(packageProblem('WHEEL_PLATFORM_UNSUITABLE', message));
  }
  const distInfo = findDistInfo(files, findings);
  const base = { ...NO_PROJECT, roots: [rootOf(''), ...dataRootsOf(files)] };
  if (distInfo === null) {
    return base;
  }
  const metadata = readCoreMetadata(requireText(`${distInfo}/METADATA`, files, findings) ?? '');
  if (
    parts !== undefined &&
    metadata.name !== null &&
    normalizeName(metadata.name) !== normalizeName(parts.name ?? '')
  ) {
    const message = `${printablePath(name)} contains the package ${printablePath(metadata.name)}.`;
    findings.addProblem(packageProblem('WHEEL_NAME_INVALID', message));
  }
  const record = requireText(`${distInfo}/RECORD`, files, findings);
  if (record !== null) {
    checkRecord(record, files, findings);
  }
  return { ...base, metadata, wheelTags: readTags(`${distInfo}/WHEEL`, files, findings) };
}

function findDistInfo(files: PackageFiles, findings: Findings): string | null {
  const found = new Set(
    files.paths.map((path) => path.split('/')[0] ?? '').filter((name) => name.endsWith('.dist-info')),
  );
  const [first, ...others] = found;
  if (first === undefined || others.length > 0) {
    const message = `A wheel must have one .dist-info directory, but this one has ${found.size}.`;
    findings.addProblem(packageProblem('WHEEL_METADATA_INVALID', message));
    return null;
  }
  return first;
}

function requireText(path: string, files: PackageFiles, findings: Findings): string | null {
  if (!files.has(path)) {
    findings.addProblem(packageProblem('WHEEL_METADATA_INVALID', `The wheel has no ${files.pathOf(path)}.`, path));
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
    const message = `${files.pathOf(path)} has Wheel-Version "${printablePath(version)}"; installers support version 1.`;
    findings.addProblem(packageProblem('WHEEL_METADATA_INVALID', message, path));
  }
  return fields.get('tag') ?? [];
}

/**
 * "Installation will fail if any file in the archive is not both mentioned and correctly hashed in RECORD" (PEP 427).
 */
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
    [missing, 'lists files that are not in the wheel'],
    [unlisted, 'does not list all files of the wheel'],
  ] as const) {
    const [first] = paths;
    if (first !== undefined) {
      const message = `RECORD ${what}: ${paths.length} files, the first is "${printablePath(first)}".`;
      findings.addProblem(packageProblem('WHEEL_RECORD_MISMATCH', message, first));
    }
  }
}

/** The first of three CSV fields; only paths with a comma or a quote are quoted. */
function readRecordPath(line: string): string {
  const quoted = /^"((?:[^"]|"")*)"/.exec(line)?.[1];
  return quoted?.replaceAll('""', '"') ?? line.replace(/,[^,]*,[^,]*$/, '');
}

/** Files in `NAME.data/purelib` and `platlib` are installed next to those of the wheel's root. */
function dataRootsOf(files: PackageFiles) {
  const found = new Set(files.paths.map((path) => /^[^/]+\.data\/(?:purelib|platlib)(?=\/)/.exec(path)?.[0]));
  return [...found].filter((directory) => directory !== undefined).map((directory) => rootOf(directory));
}
