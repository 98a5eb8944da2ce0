import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Invocation } from '#cli/core/command.ts';
import { Failure, UsageFailure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { type Endpoints, readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';

const DIRECTORY_NAME = '.dropforge';

type Caller = Pick<Invocation, 'dataDir'> & { readonly io: { readonly cwd: string } };

/** The data directory that was named, else the nearest `.dropforge/` here or above, else the one to be made here. */
export async function findDataDir({ dataDir, io }: Caller): Promise<string> {
  if (dataDir !== undefined) {
    const path = resolve(io.cwd, dataDir);
    if (await leadsToFile(path)) {
      throw new Failure(`The data directory ${path} is a file, or below one: name a folder with --data-dir.`);
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

/** For commands that start a cloud of their own; a variable that is set for others is left alone. */
export function refuseDeployment({ flag }: Pick<Invocation, 'flag'>): void {
  if (flag('deployment') !== undefined) {
    throw new UsageFailure(
      '--deployment is of no use here: this starts an embedded cloud on this machine. Leave it out.',
    );
  }
}

/** The endpoints of the running embedded cloud. Fails with the way to start one, and where a deployment was named. */
export async function findCloud(caller: Caller & Pick<Invocation, 'deployment'>): Promise<Endpoints> {
  if (caller.deployment !== undefined) {
    throw new Failure(
      'Only an embedded cloud has this: leave out --deployment, or unset DROPFORGE_DEPLOYMENT. On Google Cloud, docs/runbook.md tells where to look.',
    );
  }
  const dataDir = await findDataDir(caller);
  const endpoints = await readEndpoints(dataDir);
  if (endpoints === undefined) {
    const flag = caller.dataDir === undefined ? '' : ` --data-dir ${caller.dataDir}`;
    throw new Failure(`No embedded cloud runs on ${dataDir}: run \`${programName()}${flag} up\` first.`);
  }
  return endpoints;
}

async function leadsToFile(path: string): Promise<boolean> {
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
