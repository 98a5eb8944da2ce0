import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Variables by which Docker, or Podman as `docker`, finds its daemon, configuration and storage. */
const ENGINE_VARIABLES = /^(HOME|DOCKER_.*|CONTAINER.*|PODMAN_.*|XDG_.*)$/;

/** JSON of variables that only the engine needs, for an embedded cloud that has them from its user. */
const OWN_VARIABLES = 'DROPFORGE_ENGINE_ENVIRONMENT';

const ENGINE_MS_MAX = 30_000;
/** An engine fails to remove a container that another command is removing. */
const REMOVE_ROUNDS_MAX = 5;
const REMOVE_ROUND_MS = 200;

/**
 * The variables that an agent passes to the engine's command and programs do not get; for this machine's own command,
 * too.
 */
export function engineEnvironmentOf(host: Environment): Readonly<Record<string, string>> {
  const own = Object(parseJson(host[OWN_VARIABLES] ?? '{}')) as Environment;
  const known = Object.entries(host).filter(([name]) => ENGINE_VARIABLES.test(name));
  const all = [...known, ...Object.entries(own)];
  return Object.fromEntries(all.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

/**
 * Removes the containers of a VM whose processes were killed: an engine keeps them otherwise, and one that runs as
 * another user is not among the processes of the VM. Does nothing if the VM's agent has started none. Throws if one
 * cannot be removed; an engine that does not answer runs none.
 */
export async function removeContainers(
  { directory, instanceId }: { readonly directory: string; readonly instanceId: string },
  host: Environment,
): Promise<void> {
  const disk = join(directory, 'disk');
  // Written by the agent before it creates a container.
  if (!existsSync(join(disk, 'container-engine'))) {
    return;
  }
  const list = ['ps', '--all', '--quiet', '--filter', `label=dropforge.vm=${instanceId}@${disk}`];
  for (let round = 0; round < REMOVE_ROUNDS_MAX; round++) {
    const ids = (await runDocker(list, host).catch(() => '')).split('\n').filter((id) => id !== '');
    if (ids.length === 0) {
      return;
    }
    await runDocker(['rm', '--force', '--volumes', ...ids], host).catch(() => undefined);
    await delay(REMOVE_ROUND_MS);
  }
  throw new Error(`The containers of VM ${instanceId} could not be removed with docker. The removal is retried.`);
}

/** Runs the engine's command, and returns what it prints. Throws if it fails or takes too long. */
export async function runDocker(args: readonly string[], host: Environment, timeout = ENGINE_MS_MAX): Promise<string> {
  const options = { env: { ...host, ...engineEnvironmentOf(host) } as NodeJS.ProcessEnv, timeout };
  return (await promisify(execFile)('docker', args, options)).stdout;
}
