import { argvOf } from '#shared/domain/container.ts';
import type { ContainerProgram, PinnedImage, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Problem } from '#shared/protocol/report.ts';

/**
 * What any image takes of a disk: its layers compressed, and unpacked to at least the same size. As in the agent's
 * container/pull_space.py, which checks it again.
 */
const NEEDED_FACTOR = 2;
/** The estimate for a disk to request: most layers unpack to twice their size. */
const ESTIMATED_FACTOR = 3;
/** For the machine image, and what the program writes. */
const OTHER_GIB = 20;

/** Root by name or number, with or without a group; an image without a user runs as root. */
const ROOT_PATTERN = /^(root|0*)(:.*)?$/;

type CheckInput = { readonly group: ReplicaGroup; readonly allowsRoot: boolean };

/** Why an image that exists cannot run as the job says; null if it can. */
export function checkImage(
  program: ContainerProgram,
  image: PinnedImage,
  { group, allowsRoot }: CheckInput,
): Problem | null {
  const { imageUri } = program;
  if (argvOf(program).length === 0) {
    const message = `The image ${imageUri} has no entry point and no command, and the job sets none.`;
    const remedy = 'Set the command that the container runs, or add an ENTRYPOINT to the image.';
    return { code: 'IMAGE_WITHOUT_COMMAND', message, remedy };
  }
  if (!allowsRoot && ROOT_PATTERN.test(image.user)) {
    const message = `The image ${imageUri} runs as root, which this deployment forbids.`;
    const remedy =
      'Add a USER to the image, such as USER 1000; or have root allowed (containers.allow_root in Terraform, allowRoot of containers in the configuration of dropforge up).';
    return { code: 'IMAGE_RUNS_AS_ROOT', message, remedy };
  }
  const neededGib = Math.ceil((image.sizeBytes * NEEDED_FACTOR) / 2 ** 30);
  if (neededGib > group.bootDiskGib) {
    const sizeGib = (image.sizeBytes / 2 ** 30).toFixed(1);
    const message = `The image ${imageUri} has ${sizeGib} GiB compressed and takes at least ${neededGib} GiB of disk while it is unpacked; the boot disk of the ${group.role} has ${group.bootDiskGib} GiB.`;
    const wantedGib = Math.ceil((image.sizeBytes * ESTIMATED_FACTOR) / 2 ** 30) + OTHER_GIB;
    const remedy = `Request a boot disk of ${wantedGib} GiB (three times the compressed size, and ${OTHER_GIB} GiB), or make the image smaller.`;
    return { code: 'IMAGE_TOO_LARGE', message, remedy };
  }
  return null;
}
