import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { type BuildContext, collectContext, type LeftOut } from '#cli/images/build-context.ts';
import { chooseBase } from '#cli/images/choose-base.ts';
import type { PipConfiguration } from '#cli/images/pip-configuration.ts';
import { readProgram } from '#cli/images/read-program.ts';
import { writeDockerfile } from '#cli/images/write-dockerfile.ts';
import { printablePath } from '#shared/package/archive/package-problem.ts';

export type PreparedBuild = {
  readonly context: BuildContext;
  readonly dockerfile: string;
  /** Its name in the folder; null for a generated one. */
  readonly dockerfileName: string | null;
  readonly notes: readonly string[];
  readonly pip: PipConfiguration | null;
};

/** What the user chose for a generated Dockerfile. */
export type GeneratedOptions = {
  readonly runtime: string | undefined;
  readonly baseImage: string | undefined;
  readonly module: string | undefined;
  readonly pip: PipConfiguration | null;
};

const DOCKERFILE_NAMES = ['Dockerfile', 'Containerfile'] as const;
const LISTED_MAX = 5;
/** As includeRequirements reads them. */
const REQUIREMENTS = /\.(?:txt|in)$/;

/**
 * Collects what a build gets, with the Dockerfile of the folder or a generated one. Throws Failure if the folder's own
 * Dockerfile could copy a credential into the image; a generated one leaves such files out.
 */
export async function prepareBuild(directory: string, options: GeneratedOptions): Promise<PreparedBuild> {
  await rejectNoFolder(directory);
  for (const name of DOCKERFILE_NAMES) {
    const text = await readFile(join(directory, name), 'utf8').catch(() => null);
    if (text !== null) {
      return prepareOwn(directory, { name, text, options });
    }
  }
  const context = await collectContext(directory, { dockerfile: null, secretFile: secretFileOf(options) });
  rejectCredentialsInRequirements(context);
  const program = await readProgram(context, options.module);
  const base = chooseBase({ ...options, ofJobFile: program.runtimeVersion });
  const notes = [
    ...(base.note === null ? [] : [base.note]),
    ...describeLeftOut([...context.leftOut, ...context.credentials]),
  ];
  return {
    context,
    dockerfile: writeDockerfile(base, program, options.pip !== null),
    dockerfileName: null,
    notes,
    pip: options.pip,
  };
}

async function prepareOwn(
  directory: string,
  own: { readonly name: string; readonly text: string; readonly options: GeneratedOptions },
): Promise<PreparedBuild> {
  const { runtime, baseImage, module, pip } = own.options;
  const unused = Object.entries({
    '--runtime': runtime,
    '--base-image': baseImage,
    '--module': module,
    '--pip-conf': pip?.kind === 'FILE' ? pip.path : undefined,
    '--pip-secret': pip?.kind === 'SECRET' ? pip.name : undefined,
  });
  const flag = unused.find(([, value]) => value !== undefined)?.[0];
  if (flag !== undefined) {
    throw new UsageFailure(
      `${flag} is for folders without a Dockerfile, and ${join(directory, own.name)} exists. Remove one of them.`,
    );
  }
  const context = await collectContext(directory, { dockerfile: own.name, secretFile: null });
  if (context.credentials.length > 0) {
    throw new Failure(
      `${own.name} could copy credentials into the image, which everyone who can pull it can read: ${list(context.credentials)}. ` +
        'List these files in .dockerignore; a job gets secrets from `secrets` in its job file.',
    );
  }
  return {
    context,
    dockerfile: own.text,
    dockerfileName: own.name,
    notes: describeLeftOut(context.leftOut),
    pip: null,
  };
}

const secretFileOf = ({ pip }: GeneratedOptions) => (pip?.kind === 'FILE' ? pip.path : null);

/** Without the file, the image would lack what it requires. */
function rejectCredentialsInRequirements({ credentials }: BuildContext): void {
  const found = credentials.filter(({ path }) => REQUIREMENTS.test(path));
  if (found.length > 0) {
    throw new Failure(
      `${list(found)}: everyone who can pull the image could read it. Move the URL of the index to a pip.conf, and pass it with --pip-conf.`,
    );
  }
}

async function rejectNoFolder(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => null);
  if (found === null) {
    throw new Failure(`${directory} does not exist. Pass the folder of a program, or of a Dockerfile.`);
  }
  if (!found.isDirectory()) {
    throw new Failure(`${directory} is not a folder. Pass the folder that contains it.`);
  }
}

function describeLeftOut(leftOut: readonly LeftOut[]): readonly string[] {
  return leftOut.length === 0 ? [] : [`Files that are not in the image: ${list(leftOut)}.`];
}

function list(leftOut: readonly LeftOut[]): string {
  const shown = leftOut.slice(0, LISTED_MAX).map(({ path, reason }) => `${printablePath(path)} (${reason})`);
  const rest = leftOut.length - shown.length;
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}
