import { posix } from 'node:path';
import type { ContainerProgram, PythonProgram } from '#shared/domain/job-spec.ts';
import { type Dialect, fieldPath, type PoolDraft, type ProgramDraft } from '#shared/job-file/draft/job-draft.ts';
import { parseStorageUri, printStorageUri } from '#shared/job-file/draft/storage-uri.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { findPlaceholder } from '#shared/job-file/parser/placeholder.ts';
import { quote, rejectMissing } from '#shared/job-file/parser/record-findings.ts';
import { checkArguments, checkEnvironment } from '#shared/job-file/validation/check-arguments.ts';
import { rejectStorageUri, warnOfEmptyPart } from '#shared/job-file/validation/check-storage-uri.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { isSingleFileName } from '#shared/package/archive/archive-format.ts';
import { SCRIPT_PATH } from '#shared/package/metadata/python-modules.ts';

/** AI Platform's limit (TrainingInput.packageUris), and Vertex AI's (PythonPackageSpec.packageUris). */
const PACKAGES_COUNT_MAX = 100;

const MODULE_CHARACTERS_MAX = 255;
/** `python -m` resolves files, so unlike in `import`, names may contain dashes and begin with a digit. */
const MODULE_PATTERN = /^[\p{L}\p{N}_][\p{L}\p{N}_-]*(\.[\p{L}\p{N}_][\p{L}\p{N}_-]*)*$/u;

/** No object name is longer, and normalizing a path can take time quadratic in its length. */
const PATH_CHARACTERS_MAX = 1_024;

const PACKAGE_SUFFIXES = ['.tar.gz', '.tgz', '.tar', '.zip', '.whl'];

const PACKAGE_REMEDY =
  'Write a single object, such as gs://bucket/trainer-0.1.tar.gz, or a path relative to the job file.';

type CheckInput = { readonly dialect: Dialect; readonly context: JobContext };

/**
 * The Python program of a pool, which is a module or a command; null if any part of it is missing or invalid. The
 * context's default package applies to every pool that names none.
 */
export function checkPythonProgram(
  pool: PoolDraft,
  { dialect, context }: CheckInput,
  findings: Findings,
): PythonProgram | null {
  const { program } = pool;
  const pathOf = (name: 'packageUris' | 'pythonModule') =>
    dialect === 'vertex-ai' && pool.path !== '' ? `${pool.path}.pythonPackageSpec.${name}` : fieldPath(dialect, name);
  // The default module is that of the default package, and the master's may be in its own.
  const isDefaultModule = pool.role === 'master' || !isNonEmpty(program.packageUris);
  const defaults = { ...context.defaults, ...(!isDefaultModule && { pythonModule: undefined }) };
  const packageUris = isNonEmpty(program.packageUris)
    ? checkPackages(program.packageUris, context, findings)
    : (defaults.packageUris ??
      rejectMissing(
        pathOf('packageUris'),
        'Write the gs:// URI of the package, or its path relative to the job file (--package-path on a command line). A folder is one archive: `tar -czf mine.tar.gz FOLDER`, with its job file at the root of the folder.',
        findings,
      ));
  const command = checkArguments(program.command ?? [], findings);
  const module = isNonEmpty(program.command)
    ? ''
    : moduleOf(program, { defaults, path: pathOf('pythonModule') }, findings);
  const args = checkArguments(program.args ?? [], findings);
  const environment = checkEnvironment(program.environment, findings);
  return packageUris === null || module === null || command === null || args === null || environment === null
    ? null
    : {
        kind: 'PYTHON',
        packageUris,
        ...(command.length > 0 ? { module: null, command } : { module }),
        args,
        environment,
      };
}

function moduleOf(
  { pythonModule }: ProgramDraft,
  { defaults, path }: { readonly defaults: { readonly pythonModule?: string | undefined }; readonly path: string },
  findings: Findings,
): string | null {
  return pythonModule === undefined
    ? (defaults.pythonModule ??
        rejectMissing(path, 'Write the module to run, such as trainer.task (--module-name).', findings))
    : checkModule(pythonModule, findings);
}

/**
 * The part of a Python program that is mounted into a container: packages, and the module that the image's Python runs.
 * A module without packages is the default package's, or one of the image.
 */
export function checkMountedPackages(
  { packageUris, pythonModule }: ProgramDraft,
  context: JobContext,
  findings: Findings,
): Pick<ContainerProgram, 'packageUris' | 'module'> | null {
  const byDefault = pythonModule === undefined ? [] : (context.defaults.packageUris ?? []);
  const uris = isNonEmpty(packageUris) ? checkPackages(packageUris, context, findings) : byDefault;
  const module = pythonModule === undefined ? undefined : checkModule(pythonModule, findings);
  return uris === null || module === null ? null : { packageUris: uris, module: module ?? null };
}

type NonEmpty<T> = readonly [T, ...T[]];

function isNonEmpty<T>(list: readonly T[] | undefined): list is NonEmpty<T> {
  return list !== undefined && list.length > 0;
}

function checkPackages(
  given: NonEmpty<Located<string>>,
  context: JobContext,
  findings: Findings,
): readonly string[] | null {
  if (given.length > PACKAGES_COUNT_MAX) {
    const message = `The job has ${given.length} packages; the maximum is ${PACKAGES_COUNT_MAX}.`;
    const remedy = 'Combine the program and its dependencies in fewer packages.';
    findings.problems.push({ code: 'TOO_MANY_PACKAGES', message, remedy, ...locationOf(given[0]) });
    return null;
  }
  const uris = given.map((uri) => checkPackage(uri, context, findings));
  return uris.every((uri) => uri !== null) ? uris : null;
}

function checkPackage(given: Located<string>, context: JobContext, findings: Findings): string | null {
  const resolved = resolvePackage(given.value, context);
  const parsed = 'fault' in resolved ? resolved : parseStorageUri(resolved.uri);
  const code = 'INVALID_PACKAGE_URI';
  if ('fault' in parsed || findPlaceholder(given.value, given.path) !== undefined) {
    const message = `The package ${quote(given.value)} ${'fault' in parsed ? parsed.fault : 'contains a placeholder'}.`;
    rejectStorageUri(given, { code, message, remedy: PACKAGE_REMEDY }, findings);
    return null;
  }
  if (parsed.path.includes('gs://')) {
    const message = `${quote(given.value)} contains several packages in one string.`;
    const remedy = 'Write a list: each URI on its own line, starting with "- ".';
    reportInvalid(given, { code, message, remedy }, findings);
    return null;
  }
  if (isSingleFileName(parsed.path) || PACKAGE_SUFFIXES.some((suffix) => parsed.path.endsWith(suffix))) {
    warnOfEmptyPart(given, parsed, findings);
    return printStorageUri(parsed);
  }
  const message = `${quote(given.value)} is not a package: its name must end with ${PACKAGE_SUFFIXES.slice(0, -1).join(', ')} or ${PACKAGE_SUFFIXES.at(-1)}.`;
  const remedy = `Build a source distribution or a wheel, or name a single .py file or requirements.txt. ${PACKAGE_REMEDY}`;
  reportInvalid(given, { code, message, remedy }, findings);
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
    return { fault: 'is a relative path, but the job file is not in a bucket' };
  }
  if (text.length > PATH_CHARACTERS_MAX) {
    return { fault: `is longer than ${PATH_CHARACTERS_MAX} characters` };
  }
  const path = posix.normalize(text);
  const isOutside = path.startsWith('../') || path.startsWith('/');
  return isOutside
    ? { fault: 'is outside the folder of the job file' }
    : { uri: `${packageBase.replace(/\/$/, '')}/${path}` };
}

function checkModule(pythonModule: Located<string>, findings: Findings): string | null {
  const { value } = pythonModule;
  // trainer.task.py is more likely the module trainer.task than a script of that name.
  const isCommand = /^python3? /.test(value);
  const isPath = SCRIPT_PATH.test(value) && value !== 'setup.py' && (value.includes('/') || !/\..*\./.test(value));
  const isScript = isPath && !isCommand;
  if ((isScript || (MODULE_PATTERN.test(value) && !value.endsWith('.py'))) && value.length <= MODULE_CHARACTERS_MAX) {
    return value;
  }
  const dotted = value
    .replace(/^python3? +(-m +)?/, '')
    .replace(/\.py$/, '')
    .replaceAll(/[/\\]+/g, '.')
    .replace(/^\.+/, '');
  const suggestion = MODULE_PATTERN.test(dotted) && dotted.length <= MODULE_CHARACTERS_MAX ? dotted : 'trainer.task';
  const message = `${quote(value)} is not a valid name of a Python module.`;
  const remedy = `Write names separated by dots, as for "python -m": ${suggestion}. A script is written as its path in the package: src/train.py.`;
  reportInvalid(pythonModule, { code: 'INVALID_PYTHON_MODULE', message, remedy }, findings);
  return null;
}
