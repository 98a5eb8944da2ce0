import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { inspectLocalPackage } from '#cli/submit/check-packages.ts';
import { findEntryPoint, packageOfScript } from '#cli/submit/entry-point.ts';
import { type ConfigFile, type JobRequest, readConfigFile } from '#cli/submit/job-request.ts';
import { trainingRequestOf } from '#cli/submit/training-request.ts';
import { masterOf } from '#shared/job-file/draft/job-draft.ts';
import { readJobFile } from '#shared/job-file/read-job-file.ts';
import { isArchiveName, JOB_FILE_NAMES } from '#shared/package/archive/package-file-names.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** The length of a job id without the suffix that makes it unique; the limit is 128. */
const JOB_ID_CHARACTERS_MAX = 110;

/** A job file, which may be inferred, and the folder or the script that is its package. */
type Program = { readonly file: ConfigFile; readonly path: string; readonly isInferred?: boolean };

/**
 * Reads the operand of `dropforge run`: a folder with or without a job file, a script, or a job file, whose folder is
 * the package. Throws UsageFailure with what to type if it does not say what to run.
 */
export async function readRunRequest(invocation: Invocation): Promise<JobRequest> {
  const { flag, io, operands } = invocation;
  const given = operands[0] ?? '.';
  const path = resolve(io.cwd, given);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    throw new UsageFailure(await describeMissing(path, given));
  }
  const module = flag('module-name');
  const program = found.isDirectory()
    ? await readFolder(path, { given, module })
    : await readFile(path, { given, module });
  if (program.isInferred) {
    io.stderr.write(`There is no job file: this one is used.\n  ${program.file.text}`);
  }
  const packages = namesPackages(program.file) ? [] : [{ kind: 'FOLDER', path: program.path } as const];
  const { draft } = program.file.reading;
  const name = flag('name') ?? draft?.jobId?.value ?? draft?.displayName?.value ?? nameOf(path, found.isDirectory());
  if (flag('name') !== undefined && !/\w/.test(name)) {
    throw new UsageFailure(`--name '${name}' has no letter or digit, from which a job id could be made.`);
  }
  return withFreeName(trainingRequestOf(invocation, { file: program.file, jobId: toJobId(name), packages, notes: [] }));
}

async function describeMissing(path: string, given: string): Promise<string> {
  if (/^[\w+.-]+(?::\/\/|@[\w.-]+:)/.test(given)) {
    return `${given} is not on this machine: clone or copy it, and run the folder. A package in a bucket is run with \`${programName()} jobs submit training NAME --packages gs://… --module-name MODULE\`.`;
  }
  const [name, names] = [basename(path), await readdir(dirname(path)).catch((): string[] => [])];
  const meant = names.includes(`${name}.py`) ? `Did you mean "${name}.py"? ` : didYouMean(name, names);
  return `${path} does not exist. ${meant}Pass the folder of a program, a .py file or a job file.`;
}

function withFreeName(request: JobRequest): JobRequest {
  return { ...request, rename: (suffix) => ({ ...request, jobId: `${request.jobId}_${suffix}` }) };
}

type Named = { readonly given: string; readonly module: string | undefined };

async function readFolder(path: string, { given, module }: Named): Promise<Program> {
  const names = await readdir(path);
  for (const name of JOB_FILE_NAMES.filter((one) => names.includes(one))) {
    const file = await readConfigFile(join(path, name));
    // Other tools have a config.yaml, too.
    if (name !== 'config.yaml' || file.reading.draft !== null) {
      return { file, path };
    }
  }
  return { file: inferred(module ?? (await findEntryPoint(path, given)), path), path, isInferred: true };
}

async function readFile(path: string, { given, module }: Named): Promise<Program> {
  switch (extname(path)) {
    case '.py': {
      const script = await packageOfScript(path);
      return { file: inferred(module ?? script.module, dirname(path)), path: script.path, isInferred: true };
    }
    case '.ipynb':
      throw new UsageFailure(
        `${path} is a notebook, which does not run by itself: convert it with \`jupyter nbconvert --to script ${given}\`, ` +
          `and then run \`${programName()} run ${given.replace(/ipynb$/, 'py')}\`.`,
      );
    case '.sh':
      throw new UsageFailure(
        `${path} is a shell script, not a job file: run the Python program that it starts, such as \`${programName()} run train.py\`.`,
      );
    default:
      return isArchiveName(path)
        ? readArchive(path, { given, module })
        : { file: await readConfigFile(path), path: dirname(path) };
  }
}

/** An archive is a folder that is packed already. */
async function readArchive(path: string, { given, module }: Named): Promise<Program> {
  const [found] = (await inspectLocalPackage(path)).jobFiles;
  if (found === undefined) {
    return { file: inferred(module ?? (await findEntryPoint(path, given)), dirname(path)), path, isInferred: true };
  }
  const { text, fileName } = { ...found, fileName: basename(found.path) };
  return { file: { text, fileName, folder: dirname(path), reading: readJobFile(text, { fileName }) }, path };
}

/** The job file that the folder could have had. */
function inferred(module: string, folder: string): ConfigFile {
  const text = `module: ${/^[A-Za-z_][\w./-]*$/.test(module) ? module : JSON.stringify(module)}\n`;
  return { text, fileName: 'job.yaml', folder, reading: readJobFile(text, { fileName: 'job.yaml' }) };
}

/** Whether the job file says where its packages are, or runs a container without any. */
function namesPackages({ reading: { draft } }: ConfigFile): boolean {
  if (draft === null) {
    return true;
  }
  const { imageUri, packageUris, pythonModule } = masterOf(draft).program;
  return packageUris !== undefined || (imageUri !== undefined && pythonModule === undefined);
}

/** The name of the folder, or of the script, archive or job file unless that has the usual one. */
function nameOf(path: string, isFolder: boolean): string {
  const name = basename(path);
  return JOB_FILE_NAMES.includes(name) ? basename(dirname(path)) : name.replace(/(\.tar)?\.\w+$/, isFolder ? '$&' : '');
}

/** A letter, then letters, digits and underscores. */
function toJobId(name: string): string {
  const words = name.replaceAll(/\W+/g, '_').replace(/^_+|_+$/g, '');
  const id = /^[A-Za-z]/.test(words) ? words : `job_${words}`.replace(/_$/, '');
  return id.slice(0, JOB_ID_CHARACTERS_MAX);
}
