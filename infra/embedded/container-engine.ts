import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

export type ContainerEngine = 'docker' | 'podman';

/**
 * The arguments with which each engine prints its version, in the order of preference. Only an engine that works
 * answers: `version` would need no daemon, and no storage. As the agent asks.
 */
const ENGINE_PROBES: Readonly<Record<ContainerEngine, readonly string[]>> = {
  docker: ['info', '--format', '{{.ServerVersion}}'],
  podman: ['info', '--format', '{{.Version.Version}}'],
};

const CONTAINER_ENGINES = Object.keys(ENGINE_PROBES) as readonly ContainerEngine[];

const PROBE_MS_MAX = 10_000;

/** JSON of the variables that only the engine needs, such as DOCKER_HOST. */
const ENGINE_VARIABLE = 'DROPFORGE_ENGINE_ENVIRONMENT';

/** The first engine of this machine that answers, Docker before Podman, as agents find it; null if there is none. */
export async function findContainerEngine(environment: Environment): Promise<ContainerEngine | null> {
  const own = Object(parseJson(environment[ENGINE_VARIABLE] ?? '{}')) as Environment;
  const options = { env: { ...environment, ...own }, timeout: PROBE_MS_MAX };
  for (const engine of CONTAINER_ENGINES) {
    const version = await promisify(execFile)(engine, ENGINE_PROBES[engine], options).then(
      ({ stdout }) => stdout.trim(),
      // Not installed, without a daemon, or too slow: the next one may answer.
      () => '',
    );
    if (version !== '') {
      return engine;
    }
  }
  return null;
}
