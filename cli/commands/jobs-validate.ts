import { basename, resolve } from 'node:path';
import type { Command, Invocation } from '#cli/core/command.ts';
import { describeError, UsageFailure } from '#cli/core/failure.ts';
import { describeValidation, toJson } from '#cli/render/describe-validation.ts';
import { OFFLINE_CONTEXT, readJobFileBytes, readJobFileStream } from '#cli/submit/job-file.ts';
import { type JobFileValidation, validateJobFile } from '#shared/job-file/validate-job-file.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';

/** What else a file is judged by than itself. */
type Judge = (validation: JobFileValidation, bytes: Uint8Array) => JobFileValidation;

export const jobsValidate: Command = {
  operands: [{ name: 'FILE', summary: 'job files in YAML or JSON; - is what is piped in', count: 'many' }],
  flags: [
    { name: 'package', value: 'PATH', summary: 'look into this package, too: an archive, or the folder of one' },
    {
      name: 'ignore',
      value: 'CODES',
      isRepeatable: true,
      summary: 'pass over what --package finds by these, by commas',
    },
  ],
  notes: 'No cloud is needed. Ends with 1 when a file would be refused. What flags may add is not missed.',
  async run(invocation) {
    const { io, operands, print } = invocation;
    const judge = await createJudge(invocation);
    let isAllAccepted = true;
    for (const file of operands) {
      const validation = await validate(file, { invocation, judge });
      isAllAccepted &&= validation.verdict === 'valid' && validation.isRunnable;
      print({ json: toJson(file, validation), text: describeValidation(file, validation, io.stdout) });
    }
    return isAllAccepted ? 0 : 1;
  },
};

async function validate(
  file: string,
  { invocation, judge }: { readonly invocation: Invocation; readonly judge: Judge },
): Promise<JobFileValidation> {
  const { io } = invocation;
  let bytes: Uint8Array;
  try {
    bytes = await (file === '-' ? readJobFileStream(io.openStdin()) : readJobFileBytes(resolve(io.cwd, file)));
  } catch (error) {
    return unreadable(file, reasonOf(error));
  }
  const fileName = file === '-' ? 'The input' : basename(file);
  const path = invocation.flag('package');
  const context =
    path === undefined ? OFFLINE_CONTEXT : withPackage(OFFLINE_CONTEXT, basename(resolve(invocation.io.cwd, path)));
  return judge(validateJobFile(bytes, { fileName, context }), bytes);
}

/** A package that was named is not missing in the file. */
function withPackage(context: JobContext, name: string): JobContext {
  return { ...context, defaults: { ...context.defaults, packageUris: [`${context.packageBase}/${name}`] } };
}

/** The package is looked into once, whatever the number of files; without one nothing of all that is loaded. */
async function createJudge({ flag, flags, io }: Invocation): Promise<Judge> {
  const path = flag('package');
  if (path === undefined) {
    return (validation) => validation;
  }
  const { inspectLocalPackage, judgePackages } = await import('#cli/submit/check-packages.ts');
  const { readJobFile } = await import('#shared/job-file/read-job-file.ts');
  const { masterOf } = await import('#shared/job-file/draft/job-draft.ts');
  const silenced = await readIgnored(flags);
  const report = await inspectLocalPackage(resolve(io.cwd, path));
  return (validation, bytes) => {
    const { draft } = readJobFile(bytes, { fileName: 'job file' });
    const module = draft === null ? undefined : masterOf(draft).program.pythonModule?.value;
    const found = judgePackages([{ name: basename(path), report }], { module, plan: validation.plan }, silenced);
    return {
      ...validation,
      verdict: found.problems.length === 0 ? validation.verdict : 'invalid',
      errors: [...validation.errors, ...found.problems],
      warnings: [...validation.warnings, ...found.warnings],
    };
  };
}

/** A slip in a code would leave its check on without a word. */
async function readIgnored(flags: Invocation['flags']): Promise<ReadonlySet<string>> {
  const { isPackageCheck, PACKAGE_CHECKS } = await import('#shared/package/lint/package-checks.ts');
  const codes = flags('ignore').flatMap((list) => list.split(',').map((code) => code.trim()));
  const unknown = codes.find((code) => code !== '' && !isPackageCheck(code));
  if (unknown !== undefined) {
    const known = Object.keys(PACKAGE_CHECKS).join(', ');
    throw new UsageFailure(`--ignore ${unknown}: there is no such check of packages. The checks are ${known}.`);
  }
  return new Set(codes);
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : describeError(error);
}

function unreadable(file: string, reason: string): JobFileValidation {
  return {
    verdict: 'invalid',
    dialect: null,
    errors: [{ code: 'FILE_UNREADABLE', message: `${file} cannot be read (${reason}).`, remedy: 'Name a job file.' }],
    warnings: [],
    cluster: null,
    trials: null,
    price: null,
    plan: null,
    isRunnable: false,
  };
}
