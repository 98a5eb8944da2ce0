import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readEndpoints } from '#infra/embedded/data-dir/endpoints.ts';
import { ignoreMissing } from '#infra/embedded/data-dir/ignore-missing.ts';

const FOLDER = 'clouds';

/** Records that a cloud runs on this data directory, so that commands in other folders find it. */
export async function registerCloud(stateDir: string, dataDir: string): Promise<void> {
  await mkdir(join(stateDir, FOLDER), { recursive: true, mode: 0o700 });
  await writeFile(fileOf(stateDir, dataDir), dataDir);
}

export async function unregisterCloud(stateDir: string, dataDir: string): Promise<void> {
  await rm(fileOf(stateDir, dataDir), { force: true });
}

/** The data directories of this user's running clouds. A cloud that was killed is still recorded and is left out. */
export async function listRunningClouds(stateDir: string): Promise<readonly string[]> {
  const names = (await readdir(join(stateDir, FOLDER)).catch(ignoreMissing)) ?? [];
  const recorded = await Promise.all(
    names.map((name) => readFile(join(stateDir, FOLDER, name), 'utf8').catch(() => undefined)),
  );
  const dataDirs = recorded.filter((dataDir) => dataDir !== undefined);
  const running = await Promise.all(dataDirs.map((dataDir) => readEndpoints(dataDir).catch(() => undefined)));
  return dataDirs.filter((_, index) => running[index] !== undefined).toSorted();
}

function fileOf(stateDir: string, dataDir: string): string {
  return join(stateDir, FOLDER, createHash('sha256').update(dataDir).digest('hex'));
}
