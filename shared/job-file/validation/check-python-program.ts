import { posix } from 'node:path';
import type { PythonProgram } from '#shared/domain/job-spec.ts';
import { fieldPath } from '#shared/job-file/draft/field-paths.ts';
import type { Dialect, PoolDraft } from '#shared/job-file/draft/job-draft.ts';
import { parseStorageUri, printStorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import { checkArguments, checkEnvironment } from '#shared/job-file/validation/check-arguments.ts';
import { rejectStorageUri, warnOfEmptyPart } from '#shared/job-file/validation/check-storage-uri.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/** AI Platform's limit (TrainingInput.packageUris), and Vertex AI's (PythonPackageSpec.packageUris). */
const PACKAGES_COUNT_MAX = 100;

const MODULE_CHARACTERS_MAX = 255;
/** `python -m` looks for files, so that a name may have dashes and begin with a digit, as no `import` could have it. */
const MODULE_PATTERN = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*(\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*$/u;

/** Longer than any object's name; to put a path in order can take the square of its length. */
const PATH_CHARACTERS_MAX = 1_024;

const PACKAGE_SUFFIXES = ['.tar.gz', '.tgz', '.tar', '.zip', '.whl'];

const PACKAGE_REMEDY = 'Name one object, such as gs://bucket/trainer-0.1.tar.gz, or a path beside the job file.';

type Setting = { readonly dialect: Dialect; readonly context: JobContext };

/**
 * The Python program of a pool; null where something about it is missing or wrong, which is then among the findings.
 * What the context found beside the job file is the master's alone.
 */
export function checkPythonProgram(
  pool: PoolDraft,
  { dialect, context }: Setting,
  findings: Findings,
): PythonProgram | null {
  const { program } = pool;
  const pathOf = (name: 'packageUris' | 'pythonModule') =>
    dialect === 'vertex-ai' && pool.path !== '' ? `${pool.path}.pythonPackageSpec.${name}` : fieldPath(dialect, name);
  const defaults: Partial<JobContext['defaults']> = pool.role === 'master' ? context.defaults : {};
  const packageUris = isFilled(program.packageUris)
    ? checkPackages(program.packageUris, context, findings)
    : (defaults.packageUris ??
      missing(
        pathOf('packageUris'),
        'Name the package: its gs:// address, or its path beside the job file.',
        findings,
      ));
  const module =
    program.pythonModule === undefined
      ? (defaults.pythonModule ??
        missing(pathOf('pythonModule'), 'Name the module to run, such as trainer.task.', findings))
      : checkModule(program.pythonModule, findings);
  const args = checkArguments(program.args ?? [], findings);
  const environment = checkEnvironment(program.environment, findings);
  return packageUris === null || module === null || args === null || environment === null
    ? null
    : { kind: 'PYTHON', packageUris, module, args, environment };
}

type Filled<T> = readonly [T, ...T[]];

function isFilled<T>(list: readonly T[] | undefined): list is Filled<T> {
  return list !== undefined && list.length > 0;
}

function checkPackages(
  written: Filled<Located<string>>,
  context: JobContext,
  findings: Findings,
): readonly string[] | null {
  if (written.length > PACKAGES_COUNT_MAX) {
    const message = `${written.length} packages are named; a job may have ${PACKAGES_COUNT_MAX}.`;
    const remedy = 'Put the program and its dependencies into fewer packages.';
    findings.problems.push({ code: 'TOO_MANY_PACKAGES', message, remedy, ...locationOf(written[0]) });
    return null;
  }
  const uris = written.map((uri) => checkPackage(uri, context, findings));
  return uris.every((uri) => uri !== null) ? uris : null;
}

function checkPackage(written: Located<string>, context: JobContext, findings: Findings): string | null {
  const resolved = resolvePackage(written.value, context);
  const parsed = 'fault' in resolved ? resolved : parseStorageUri(resolved.uri);
  const code = 'INVALID_PACKAGE_URI';
  if ('fault' in parsed || findPlaceholder(written.value, written.path) !== undefined) {
    const message = `The package ${quote(written.value)} ${'fault' in parsed ? parsed.fault : 'holds a placeholder'}.`;
    rejectStorageUri(written, { code, message, remedy: PACKAGE_REMEDY }, findings);
    return null;
  }
  if (parsed.path.includes('gs://')) {
    const message = `${quote(written.value)} names several packages in one text.`;
    const remedy = 'Write a list: each address in a line of its own that begins with "- ".';
    reportInvalid(written, { code, message, remedy }, findings);
    return null;
  }
  if (PACKAGE_SUFFIXES.some((suffix) => parsed.path.endsWith(suffix))) {
    warnOfEmptyPart(written, parsed, findings);
    return printStorageUri(parsed);
  }
  const message = `${quote(written.value)} is no package: its name ends with none of ${PACKAGE_SUFFIXES.join(', ')}.`;
  const remedy = `Build a source distribution or a wheel. ${PACKAGE_REMEDY}`;
  reportInvalid(written, { code, message, remedy }, findings);
  return null;
}

function resolvePackage(
  text: string,
  { packageBase }: JobContext,
): { readonly uri: string } | { readonly fault: string } {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    return { uri: text };
  }
  if (packageBase === null) {
    return { fault: 'is a path, but the job file lies in no bucket' };
  }
  if (text.length > PATH_CHARACTERS_MAX) {
    return { fault: `is longer than ${PATH_CHARACTERS_MAX} characters` };
  }
  const path = posix.normalize(text);
  const leaves = path.startsWith('../') || path.startsWith('/');
  return leaves ? { fault: 'leaves the folder of the job file' } : { uri: `${packageBase.replace(/\/$/, '')}/${path}` };
}

function checkModule(pythonModule: Located<string>, findings: Findings): string | null {
  const { value } = pythonModule;
  if (MODULE_PATTERN.test(value) && value.length <= MODULE_CHARACTERS_MAX && !value.endsWith('.py')) {
    return value;
  }
  const dotted = value
    .replace(/\.py$/, '')
    .replaceAll(/[/\\]+/g, '.')
    .replace(/^\.+/, '');
  const meant = MODULE_PATTERN.test(dotted) && dotted.length <= MODULE_CHARACTERS_MAX ? dotted : 'trainer.task';
  const message = `${quote(value)} is no name of a Python module.`;
  const remedy = `Write names with dots between them, as for "python -m": ${meant}`;
  reportInvalid(pythonModule, { code: 'INVALID_PYTHON_MODULE', message, remedy }, findings);
  return null;
}

function missing(path: string, remedy: string, findings: Findings): null {
  findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, path });
  return null;
}
