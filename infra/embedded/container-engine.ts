import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runDocker } from '#infra/embedded/compute-engine/vms/containers.ts';
import type { Environment } from '#infra/embedded/vm-proxy/environment.ts';

/** Only a daemon that works answers; as the agent asks. */
const PROBE = ['version', '--format', '{{.Server.Version}}'];

const PROBE_MS_MAX = 10_000;

/** Whether this machine has a command `docker` with an engine that answers, as agents find it. */
export async function hasContainerEngine(environment: Environment): Promise<boolean> {
  return runDocker(PROBE, environment, PROBE_MS_MAX).then(
    (version) => version.trim() !== '',
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
