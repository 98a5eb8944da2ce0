import { posix } from 'node:path';
import type { PythonProgram } from '#shared/domain/job-spec.ts';
import { type Findings, type Located, placeOf } from '#shared/spec/findings.ts';
import type { JobContext } from '#shared/spec/job-context.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';
import { parseStorageUri, printStorageUri } from '#shared/spec/storage-uri.ts';

/** AI Platform's limit (TrainingInput.packageUris). */
const PACKAGES_COUNT_MAX = 100;

/** Arguments travel in a metadata value of the VM, which has at most 256 KiB, and other things are in it. */
const ARGS_BYTES_MAX = 128 << 10;

const MODULE_CHARACTERS_MAX = 255;
const MODULE_PATTERN = /^[\p{L}_][\p{L}\p{N}_]*(\.[\p{L}_][\p{L}\p{N}_]*)*$/u;

const PACKAGE_SUFFIXES = ['.tar.gz', '.tgz', '.tar', '.zip', '.whl'];

/** The program to run; null where something about it is missing or wrong, which is then among the findings. */
export function checkProgram(draft: JobDraft, context: JobContext, findings: Findings): PythonProgram | null {
  const packageUris = checkPackages(draft, context, findings);
  const module = checkModule(draft, context, findings);
  const args = checkArgs(draft.args ?? [], findings);
  return packageUris === null || module === null || args === null ? null : { packageUris, module, args };
}

function checkPackages(draft: JobDraft, context: JobContext, findings: Findings): readonly string[] | null {
  const written = draft.packageUris ?? [];
  if (written.length === 0) {
    return (
      context.defaults.packageUris ??
      missing('packageUris', 'Name the package: its gs:// address, or its path beside the job file.', findings)
    );
  }
  const [first] = written;
  if (written.length > PACKAGES_COUNT_MAX && first !== undefined) {
    const message = `${written.length} packages are named; a job may have ${PACKAGES_COUNT_MAX}.`;
    const remedy = 'Put the program and its dependencies into fewer packages.';
    findings.problems.push({ code: 'TOO_MANY_PACKAGES', message, remedy, ...placeOf(first) });
    return null;
  }
  const uris = written.map((uri) => checkPackage(uri, context, findings));
  return uris.every((uri) => uri !== null) ? uris : null;
}

function checkPackage(written: Located<string>, context: JobContext, findings: Findings): string | null {
  const resolved = resolvePackage(written.value, context);
  const parsed = 'fault' in resolved ? resolved : parseStorageUri(resolved.uri);
  const remedy = 'Name one object, such as gs://bucket/trainer-0.1.tar.gz, or a path beside the job file.';
  if ('fault' in parsed) {
    const message = `The package "${written.value}" ${parsed.fault}.`;
    findings.problems.push({ code: 'INVALID_PACKAGE_URI', message, remedy, ...placeOf(written) });
    return null;
  }
  if (PACKAGE_SUFFIXES.some((suffix) => parsed.path.endsWith(suffix))) {
    return printStorageUri(parsed);
  }
  const message = `"${written.value}" is no package: its name ends with none of ${PACKAGE_SUFFIXES.join(', ')}.`;
  findings.problems.push({
    code: 'INVALID_PACKAGE_URI',
    message,
    remedy: `Build a source distribution or a wheel. ${remedy}`,
    ...placeOf(written),
  });
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
  const path = posix.normalize(text);
  const leaves = path.startsWith('../') || path.startsWith('/');
  return leaves ? { fault: 'leaves the folder of the job file' } : { uri: `${packageBase.replace(/\/$/, '')}/${path}` };
}

function checkModule({ pythonModule }: JobDraft, { defaults }: JobContext, findings: Findings): string | null {
  if (pythonModule === undefined) {
    return defaults.pythonModule ?? missing('pythonModule', 'Name the module to run, such as trainer.task.', findings);
  }
  const { value } = pythonModule;
  if (MODULE_PATTERN.test(value) && value.length <= MODULE_CHARACTERS_MAX && !value.endsWith('.py')) {
    return value;
  }
  const dotted = value
    .replace(/\.py$/, '')
    .replaceAll(/[/\\]+/g, '.')
    .replace(/^\.+/, '');
  const meant = MODULE_PATTERN.test(dotted) && dotted.length <= MODULE_CHARACTERS_MAX ? dotted : 'trainer.task';
  const message = `"${value.slice(0, MODULE_CHARACTERS_MAX)}" is no name of a Python module.`;
  const remedy = `Write names with dots between them, as for "python -m": ${meant}`;
  findings.problems.push({ code: 'INVALID_PYTHON_MODULE', message, remedy, ...placeOf(pythonModule) });
  return null;
}

function checkArgs(args: readonly Located<string>[], findings: Findings): readonly string[] | null {
  const broken = args.find(({ value }) => value.includes('\0') || !value.isWellFormed());
  if (broken !== undefined) {
    const message = `${broken.path} holds a NUL or half a character, which no program can be given.`;
    findings.problems.push({ code: 'INVALID_ARGUMENT', message, remedy: 'Remove the character.', ...placeOf(broken) });
    return null;
  }
  const [first] = args;
  const sizeBytes = args.reduce((sum, { value }) => sum + Buffer.byteLength(value) + 1, 0);
  if (sizeBytes > ARGS_BYTES_MAX && first !== undefined) {
    const message = `The arguments have ${sizeBytes} bytes together; a job may have ${ARGS_BYTES_MAX}.`;
    const remedy = 'Put the values into a file in the bucket or in the package, and pass its name.';
    findings.problems.push({ code: 'ARGUMENTS_TOO_LARGE', message, remedy, ...placeOf(first) });
    return null;
  }
  return args.map(({ value }) => value);
}

function missing(name: string, remedy: string, findings: Findings): null {
  const path = `trainingInput.${name}`;
  findings.problems.push({ code: 'MISSING_FIELD', message: `${path} is missing.`, remedy, path });
  return null;
}
