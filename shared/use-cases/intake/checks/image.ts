import { argvOf, imageDiskBytesOf } from '#shared/domain/container.ts';
import type { ContainerProgram, PinnedImage, ReplicaGroup } from '#shared/domain/job-spec.ts';
import type { Problem } from '#shared/protocol/problem.ts';

/** For the machine image, and what the program writes. */
const OTHER_GIB = 20;

/** Root by name or number, with or without a group; an image without a user runs as root. Engines read a sign, too. */
const ROOT_PATTERN = /^(root|[+-]?0*)(:.*)?$/;
/** The number of a name is in a file of the image, which is not downloaded: that of any name can be 0. */
const NUMERIC_PATTERN = /^\d+(:.*)?$/;

type CheckInput = { readonly group: ReplicaGroup; readonly allowsRoot: boolean };

/** Why an image that exists cannot run as the job says; null if it can. */
export function describeUnfitImage(
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
  const root = allowsRoot ? null : describeRoot(image.user);
  if (root !== null) {
    const message = `The image ${imageUri} ${root}, which this deployment forbids.`;
    const remedy =
      'Give the image a USER by its number, such as USER 1000; or have root allowed (containers.allow_root in Terraform, allowRoot of containers in the configuration of dropforge up).';
    return { code: 'IMAGE_RUNS_AS_ROOT', message, remedy };
  }
  const { diskBytesMin, diskBytesEstimate } = imageDiskBytesOf(image);
  const neededGib = Math.ceil(diskBytesMin / 2 ** 30);
  if (neededGib > group.bootDiskGib) {
    const sizeGib = (image.sizeBytes / 2 ** 30).toFixed(1);
    const message = `The image ${imageUri} has ${sizeGib} GiB compressed and takes at least ${neededGib} GiB of disk while it is unpacked; the boot disk of the ${group.role} has ${group.bootDiskGib} GiB.`;
    const wantedGib = Math.ceil(diskBytesEstimate / 2 ** 30) + OTHER_GIB;
    const remedy = `Request a boot disk of ${wantedGib} GiB (three times the compressed size, and ${OTHER_GIB} GiB), or make the image smaller.`;
    return { code: 'IMAGE_TOO_LARGE', message, remedy };
  }
  return null;
}

/** How the image runs as root, or may do so; null if it does not. */
function describeRoot(user: string): string | null {
  if (ROOT_PATTERN.test(user)) {
    return 'runs as root';
  }
  const name = JSON.stringify(user.slice(0, 100));
  return NUMERIC_PATTERN.test(user) ? null : `names its user ${name} without a number and so may run as root`;
}
