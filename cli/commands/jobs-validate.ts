import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { readDeployment } from '#cli/client/deployment.ts';
import { type Command, defineFlag, type Invocation } from '#cli/core/command.ts';
import { describeFileError, UsageFailure } from '#cli/core/failure.ts';
import { describeValidation, toJson, type Validation } from '#cli/render/describe-validation.ts';
import { withEngineWarning } from '#cli/submit/check-engine.ts';
import { OFFLINE_CONTEXT, readJobFileBytes, readJobFileStream } from '#cli/submit/job-file.ts';
import { type JobFileValidation, NOTHING_TO_RUN, validateJobFile } from '#shared/job-file/validate-job-file.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { JOB_FILE_NAMES } from '#shared/package/archive/package-file-names.ts';
import { type InternetAccess, reachesInternet } from '#shared/protocol/internet-access.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { checkImageHosts } from '#shared/use-cases/intake/checks/image-hosts.ts';

/** Adds findings about the package to the validation of a job file. */
type PackageCheck = (validation: JobFileValidation, bytes: Uint8Array) => Validation;

export const jobsValidate: Command = {
  operands: [
    { name: 'FILE', summary: 'job files in YAML or JSON, or folders with one; - for standard input', count: 'many' },
  ],
  example: 'job.yaml --package trainer',
  flags: [
    defineFlag('package PATH', 'also check this package: an archive, a folder, or a .py file'),
    defineFlag('ignore CODES', 'codes of --package findings to ignore, comma-separated', { isRepeatable: true }),
  ],
  notes:
    'Runs offline; with a deployment, images are compared with what its VMs reach. Exits with 1 if a submission would be rejected. Fields that flags can set may be missing.',
  async run(invocation) {
    const { io, operands, flag, print, deployment } = invocation;
    const internetAccess = deployment === undefined ? undefined : (await readDeployment(deployment)).internetAccess;
    const given = flag('package');
    const checkGiven = await createPackageCheck(invocation, { path: given, internetAccess });
    let isAllAccepted = true;
    for (const operand of operands) {
      const names = operand === '-' ? null : await readdir(resolve(io.cwd, operand)).catch(() => null);
      const file =
        names === null ? operand : join(operand, JOB_FILE_NAMES.find((name) => names.includes(name)) ?? 'job.yaml');
      const path = given ?? (names === null ? undefined : operand);
      const checkPackage = path === given ? checkGiven : await createPackageCheck(invocation, { path, internetAccess });
      const validation = await validate(file, { invocation, path, checkPackage, internetAccess });
      isAllAccepted &&= validation.verdict === 'valid' && validation.isRunnable;
      print({ json: toJson(file, validation), text: describeValidation(file, validation, io.stdout) });
    }
    return isAllAccepted ? 0 : 1;
  },
};

type Context = {
  readonly invocation: Invocation;
  /** The package, if it is checked as well: that of --package, or the folder with the job file. */
  readonly path: string | undefined;
  readonly checkPackage: PackageCheck;
  /** The hosts from which VMs of the deployment can download; undefined without a deployment. */
  readonly internetAccess: InternetAccess | undefined;
};

async function validate(
  file: string,
  { invocation, path, checkPackage, internetAccess }: Context,
): Promise<Validation> {
  const { io, deployment } = invocation;
  if (/\.(py|ipynb|tar|t?gz|zip|whl)$/i.test(file)) {
    return unreadable(file, 'it is a program or a package, which --package takes');
  }
  let bytes: Uint8Array;
  try {
    bytes = await (file === '-' ? readJobFileStream(io.openStdin()) : readJobFileBytes(resolve(io.cwd, file)));
  } catch (error) {
    return unreadable(file, describeFileError(error));
  }
  const fileName = file === '-' ? 'The standard input' : basename(file);
  const context =
    path === undefined ? OFFLINE_CONTEXT : withPackage(OFFLINE_CONTEXT, basename(resolve(invocation.io.cwd, path)));
  const validation = validateJobFile(bytes, { fileName, context });
  const images = validation.images.map((imageUri) => ({ imageUri }));
  const hosts = checkImageHosts({ images, spec: validation.network }, { intake: { internetAccess } });
  const found = withFindings(validation, hosts);
  return checkPackage(deployment === undefined ? await withEngineWarning(found, io) : found, bytes);
}

/** With --package, the job file need not list packages. */
function withPackage(context: JobContext, name: string): JobContext {
  return { ...context, defaults: { ...context.defaults, packageUris: [`${context.packageBase}/${name}`] } };
}

/** Inspects the package of one or all files. Without one, the modules for it are not loaded. */
async function createPackageCheck(
  { flags, io }: Invocation,
  { path, internetAccess }: Pick<Context, 'path' | 'internetAccess'>,
): Promise<PackageCheck> {
  if (path === undefined) {
    return (validation) => validation;
  }
  const { inspectLocalPackage, validatePackages } = await import('#cli/submit/check-packages.ts');
  const { readJobFile } = await import('#shared/job-file/read-job-file.ts');
  const { masterOf } = await import('#shared/job-file/draft/job-draft.ts');
  const { isPrebuiltImage, runtimeVersionOf } = await import('#shared/catalog/executor-images.ts');
  const { checksToSkip } = await import('#shared/package/lint/lint-packages.ts');
  const disabledChecks = await readIgnored(flags);
  const { runtimeFor } = await import('#infra/machine-image/read-runtimes.ts');
  const report = await inspectLocalPackage(resolve(io.cwd, path));
  return (validation, bytes) => {
    const { draft } = readJobFile(bytes, { fileName: 'job file' });
    const program = draft === null ? undefined : masterOf(draft).program;
    const image = program?.imageUri?.value;
    const runtimeVersion = draft?.runtimeVersion?.value ?? (image === undefined ? undefined : runtimeVersionOf(image));
    const programOptions = { workdir: draft?.programOptions.workdir?.value };
    const isContainer = image !== undefined && !isPrebuiltImage(image);
    const found = validatePackages(
      [{ name: basename(path), report }],
      {
        module: program?.pythonModule?.value,
        plan: validation.plan,
        image: runtimeFor(runtimeVersion),
        reachesInternet: internetAccess && reachesInternet(validation.network, internetAccess),
      },
      new Set([...disabledChecks, ...checksToSkip({ kind: isContainer ? 'CONTAINER' : 'PYTHON' }, { programOptions })]),
    );
    return { ...withFindings(validation, found), hints: found.hints ?? [] };
  };
}

type Findings = { readonly problems?: readonly Problem[]; readonly warnings?: readonly Problem[] };

function withFindings(validation: JobFileValidation, { problems = [], warnings = [] }: Findings): JobFileValidation {
  return {
    ...validation,
    verdict: problems.length === 0 ? validation.verdict : 'invalid',
    errors: [...validation.errors, ...problems],
    warnings: [...validation.warnings, ...warnings],
  };
}

/** Throws UsageFailure for unknown codes, because a typo would silently leave the check enabled. */
async function readIgnored(flags: Invocation['flags']): Promise<ReadonlySet<string>> {
  const { isPackageCheck, PACKAGE_CHECKS } = await import('#shared/package/lint/package-checks.ts');
  const codes = flags('ignore').flatMap((list) => list.split(',').map((code) => code.trim()));
  const unknown = codes.find((code) => code !== '' && !isPackageCheck(code));
  if (unknown !== undefined) {
    const known = Object.keys(PACKAGE_CHECKS).join(', ');
    throw new UsageFailure(`--ignore ${unknown}: unknown package check. Valid codes: ${known}.`);
  }
  return new Set(codes);
}

function unreadable(file: string, reason: string): JobFileValidation {
  const message = `${file} cannot be read (${reason}).`;
  const remedy = 'Pass the path of a job file, or of a folder that has a job.yaml.';
  const errors = [{ code: 'FILE_UNREADABLE', message, remedy }];
  return { ...NOTHING_TO_RUN, verdict: 'invalid', dialect: null, errors, warnings: [] };
}
