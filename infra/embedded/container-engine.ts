import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** Only a daemon that works answers; as the agent asks. */
const PROBE = ['version', '--format', '{{.Server.Version}}'];

const PROBE_MS_MAX = 10_000;

/** JSON of the variables that only the engine needs, such as DOCKER_HOST. */
const ENGINE_VARIABLE = 'DROPFORGE_ENGINE_ENVIRONMENT';

/** Whether this machine has a command `docker` with an engine that answers, as agents find it. */
export async function hasContainerEngine(environment: Environment): Promise<boolean> {
  const own = Object(parseJson(environment[ENGINE_VARIABLE] ?? '{}')) as Environment;
  const options = { env: { ...environment, ...own }, timeout: PROBE_MS_MAX };
  return promisify(execFile)('docker', PROBE, options).then(
    ({ stdout }) => stdout.trim() !== '',
    // Not installed, without a daemon, or too slow.
    () => false,
  );
}

/** Names what is to be installed on a machine that has only Podman; null on any other. */
export function describePodmanAlone({ PATH = '' }: Environment): string | null {
  const has = (name: string) => PATH.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, name)));
  return has('podman') && !has('docker')
    ? 'jobs with containers are rejected: this machine has Podman without a command `docker`; install podman-docker or Docker'
    : null;
}
