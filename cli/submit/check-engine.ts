import type { Io } from '#cli/core/command.ts';
import type { Problem } from '#shared/protocol/problem.ts';

const NO_ENGINE: Problem = {
  code: 'CONTAINER_ENGINE_MISSING',
  message: 'No command `docker` answers on this machine, so its embedded cloud would reject the job.',
  remedy:
    'Install Docker, or podman-docker beside Podman, or start its service: `docker info` shows why it does not answer, such as a user who is not in the group docker. A deployment on Google Cloud needs none here.',
};

type Checked = { readonly images: readonly string[]; readonly warnings: readonly Problem[] };

/** Adds a warning if containers cannot run on this machine. Engines are asked only if there are containers. */
export async function withEngineWarning<Found extends Checked>(
  found: Found,
  { hasContainerEngine }: Pick<Io, 'hasContainerEngine'>,
): Promise<Found> {
  const isMissing = found.images.length > 0 && !(await hasContainerEngine());
  return isMissing ? { ...found, warnings: [...found.warnings, NO_ENGINE] } : found;
}
