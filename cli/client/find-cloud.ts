import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Invocation, Io } from '#cli/core/command.ts';
import { Failure } from '#cli/core/failure.ts';
import { programName } from '#cli/core/program-name.ts';
import { selectCloud } from '#cli/core/selected-cloud.ts';
import { type Endpoints, readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { listRunningClouds } from '#infra/embedded/data-dir/running-clouds.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

const DIRECTORY_NAME = '.dropforge';

type Caller = Pick<Invocation, 'dataDir'> & { readonly io: Pick<Io, 'cwd'> };

/** The input of `findCloud`. */
export type CloudCaller = Pick<Invocation, 'dataDir' | 'deployment'> & {
  readonly io: Pick<Io, 'cwd' | 'stateDir' | 'stderr'>;
};

/** A running embedded cloud. */
export type EmbeddedCloud = Endpoints & { readonly dataDir: string };

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

/**
 * Returns the embedded cloud of the data directory or, unless that was chosen or exists, this user's only one that runs
 * elsewhere. Throws Failure if there is none, and if a deployment is selected.
 */
export async function findCloud(caller: CloudCaller): Promise<EmbeddedCloud> {
  if (caller.deployment !== undefined) {
    throw new Failure(
      'This command works only with an embedded cloud: remove --deployment or unset DROPFORGE_DEPLOYMENT. For Google Cloud, see docs/runbook.md.',
    );
  }
  const dataDir = await findDataDir(caller);
  const cloud = (await readCloud(dataDir)) ?? (await findElsewhere(caller, dataDir));
  selectCloud(nameOf(cloud));
  return cloud;
}

export function nameOf({ dataDir }: Pick<EmbeddedCloud, 'dataDir'>): string {
  return `embedded cloud on ${dataDir}`;
}

async function readCloud(dataDir: string): Promise<EmbeddedCloud | undefined> {
  const endpoints = await readEndpoints(dataDir);
  return endpoints === undefined ? undefined : { ...endpoints, dataDir };
}

async function findElsewhere({ dataDir: chosen, io }: CloudCaller, nearest: string): Promise<EmbeddedCloud> {
  const [first, ...others] = chosen === undefined ? await listRunningClouds(io.stateDir) : [];
  // All clouds have the same buckets: a command for one that is stopped must not change another.
  const isOnly = first !== undefined && others.length === 0 && !(await isDirectory(nearest));
  const cloud = isOnly ? await readCloud(first) : undefined;
  if (cloud !== undefined) {
    io.stderr.write(`Using the ${nameOf(cloud)}, since none is running on ${nearest}.\n`);
    return cloud;
  }
  const choices = [first, ...others].map((dataDir) => `--data-dir ${quoteForShell(dataDir ?? '')}`);
  throw new Failure(
    first !== undefined
      ? `No embedded cloud is running on ${nearest}: run \`${programName()} up\` for it, or choose one that runs elsewhere with ${choices.join(' or ')}.`
      : `No embedded cloud is running on ${nearest}: run \`${programName()} up\` first, or select a deployment on Google Cloud with --deployment FILE.`,
  );
}

/** Whether the path is a file, or one of its parents is. */
export async function isFileOrInsideFile(path: string): Promise<boolean> {
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
