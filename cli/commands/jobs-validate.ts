import { basename, resolve } from 'node:path';
import { readDeployment } from '#cli/client/deployment.ts';
import type { Command, Invocation } from '#cli/core/command.ts';
import { describeError, UsageFailure } from '#cli/core/failure.ts';
import { describeValidation, toJson, type Validation } from '#cli/render/describe-validation.ts';
import { withEngineWarning } from '#cli/submit/check-engine.ts';
import { OFFLINE_CONTEXT, readJobFileBytes, readJobFileStream } from '#cli/submit/job-file.ts';
import { type JobFileValidation, NOTHING_TO_RUN, validateJobFile } from '#shared/job-file/validate-job-file.ts';
import type { JobContext } from '#shared/job-file/validation/job-context.ts';
import { type InternetAccess, reachesInternet } from '#shared/protocol/internet-access.ts';
import type { Problem } from '#shared/protocol/problem.ts';
import { checkImageHosts } from '#shared/use-cases/intake/checks/image-hosts.ts';

/** Adds findings about the package to the validation of a job file. */
type PackageCheck = (validation: JobFileValidation, bytes: Uint8Array) => Validation;

export const jobsValidate: Command = {
  operands: [{ name: 'FILE', summary: 'job files in YAML or JSON; - for standard input', count: 'many' }],
  example: 'job.yaml --package trainer',
  flags: [
    {
      name: 'package',
      value: 'PATH',
      summary: 'also check this package: an archive, a folder, or a .py file',
    },
    {
      name: 'ignore',
      value: 'CODES',
      isRepeatable: true,
      summary: 'codes of --package findings to ignore, comma-separated',
    },
  ],
  notes:
    'Runs offline; with a deployment, images are compared with what its VMs reach. Exits with 1 if a submission would be rejected. Fields that flags can set may be missing.',
  async run(invocation) {
    const { io, operands, print, deployment } = invocation;
    const internetAccess = deployment === undefined ? undefined : (await readDeployment(deployment)).internetAccess;
    const checkPackage = await createPackageCheck(invocation, internetAccess);
    let isAllAccepted = true;
    for (const file of operands) {
      const validation = await validate(file, { invocation, checkPackage, internetAccess });
      isAllAccepted &&= validation.verdict === 'valid' && validation.isRunnable;
      print({ json: toJson(file, validation), text: describeValidation(file, validation, io.stdout) });
    }
    return isAllAccepted ? 0 : 1;
  },
};

type Context = {
  readonly invocation: Invocation;
  readonly checkPackage: PackageCheck;
  /** The hosts from which VMs of the deployment can download; undefined without a deployment. */
  readonly internetAccess: InternetAccess | undefined;
};

async function validate(file: string, { invocation, checkPackage, internetAccess }: Context): Promise<Validation> {
  const { io, deployment } = invocation;
  let bytes: Uint8Array;
  try {
    bytes = await (file === '-' ? readJobFileStream(io.openStdin()) : readJobFileBytes(resolve(io.cwd, file)));
  } catch (error) {
    return unreadable(file, reasonOf(error));
  }
  const fileName = file === '-' ? 'The standard input' : basename(file);
  const path = invocation.flag('package');
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

/** Inspects the package once for all files. Without --package, the modules for it are not loaded. */
async function createPackageCheck(
  { flag, flags, io }: Invocation,
  internetAccess: InternetAccess | undefined,
): Promise<PackageCheck> {
  const path = flag('package');
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

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' ? 'the file does not exist' : code === 'EISDIR' ? 'it is a folder' : describeError(error);
}

function unreadable(file: string, reason: string): JobFileValidation {
  return {
    ...NOTHING_TO_RUN,
    verdict: 'invalid',
    dialect: null,
    errors: [
      {
        code: 'FILE_UNREADABLE',
        message: `${file} cannot be read (${reason}).`,
        remedy: 'Pass the path of a job file.',
      },
    ],
    warnings: [],
  };
}
