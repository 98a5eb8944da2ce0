import type { Check } from '#shared/use-cases/intake/checks/check.ts';

/** Whether a container engine answers, if the job runs containers. */
export const checkContainerEngine: Check = async ({ images: [first] }, { intake }) =>
  first === undefined || (await intake.containers.hasEngine())
    ? {}
    : { problems: [{ ...NO_ENGINE, ...first.location }] };

const NO_ENGINE = {
  code: 'CONTAINER_ENGINE_MISSING',
  message: 'The job runs a container, and no command `docker` answers on this machine.',
  remedy:
    'Install Docker, or podman-docker beside Podman, or start its service (`docker info` shows why it does not answer, such as a user who is not in the group docker), and submit the job again; or run it in a deployment on Google Cloud, whose VMs have Docker.',
};
