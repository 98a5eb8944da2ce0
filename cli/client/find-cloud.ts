import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { type Endpoints, readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';

const DIRECTORY_NAME = '.dropforge';

type Caller = Pick<Invocation, 'dataDir'> & { readonly io: { readonly cwd: string } };

/** Returns the given data directory, else the nearest `.dropforge/` here or in a parent, else `./.dropforge`. */
export async function findDataDir({ dataDir, io }: Caller): Promise<string> {
  if (dataDir !== undefined) {
    const path = resolve(io.cwd, dataDir);
    if (await isFileOrInsideFile(path)) {
      throw new Failure(`The data directory ${path} is a file or inside a file. Pass a directory with --data-dir.`);
    }
    return path;
  }
  for (let directory = io.cwd; ; directory = dirname(directory)) {
    const candidate = join(directory, DIRECTORY_NAME);
    if (await isDirectory(candidate)) {
      return candidate;
    }
    if (dirname(directory) === directory) {
      return join(io.cwd, DIRECTORY_NAME);
    }
  }
}

/** For commands that start an embedded cloud. DROPFORGE_DEPLOYMENT is ignored: it is set for other commands. */
export function rejectDeployment({ flag }: Pick<Invocation, 'flag'>): void {
  if (flag('deployment') !== undefined) {
    throw new UsageFailure(
      '--deployment does not apply: this command starts an embedded cloud on this machine. Remove the flag.',
    );
  }
}

/**
 * Returns the endpoints of the running embedded cloud. Throws Failure if none is running or a deployment is selected.
 */
export async function findCloud(caller: Caller & Pick<Invocation, 'deployment'>): Promise<Endpoints> {
  if (caller.deployment !== undefined) {
    throw new Failure(
      'This command works only with an embedded cloud: remove --deployment or unset DROPFORGE_DEPLOYMENT. For Google Cloud, see docs/runbook.md.',
    );
  }
  const dataDir = await findDataDir(caller);
  const endpoints = await readEndpoints(dataDir);
  if (endpoints === undefined) {
    throw new Failure(`No embedded cloud is running on ${dataDir}: run \`${programName()} up\` first.`);
  }
  return endpoints;
}

/** Whether the path is a file, or one of its parents is. */
async function isFileOrInsideFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory();
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOTDIR';
  }
}

async function isDirectory(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}
