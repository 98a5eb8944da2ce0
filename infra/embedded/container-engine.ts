import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Answered only by an engine that works: `version` would need no daemon, and no storage. As the agent asks. */
const PROBES = [
  ['docker', '{{.ServerVersion}}'],
  ['podman', '{{.Version.Version}}'],
] as const;

const PROBE_MS_MAX = 10_000;

/** JSON of the variables that only the engine needs, such as DOCKER_HOST. */
const ENGINE_VARIABLE = 'DROPFORGE_ENGINE_ENVIRONMENT';

/** The first engine of this machine that answers, Docker before Podman, as agents find it; null if there is none. */
export async function findContainerEngine(environment: Environment): Promise<'docker' | 'podman' | null> {
  const own = Object(parseJson(environment[ENGINE_VARIABLE] ?? '{}')) as Environment;
  const options = { env: { ...environment, ...own }, timeout: PROBE_MS_MAX };
  for (const [engine, format] of PROBES) {
    const version = await promisify(execFile)(engine, ['info', '--format', format], options).then(
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
