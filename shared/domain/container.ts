import type { ContainerProgram, PinnedImage, Program } from '#shared/domain/job-spec.ts';

/** The program that runs a module in a container; images of Python have it. */
const PYTHON = 'python3';

/**
 * The command line of a container whose image is pinned. A command replaces entry point and arguments of the image;
 * arguments alone replace the image's arguments (AI Platform, ReplicaConfig; Vertex AI, ContainerSpec; Kubernetes does
 * the same). Empty if the image has none and none is given.
 */
export function argvOf({ image, command, args, module }: ContainerProgram): readonly string[] {
  if (module !== null) {
    return [PYTHON, '-m', module, ...args];
  }
  if (command.length > 0) {
    return [...command, ...args];
  }
  return [...(image?.entrypoint ?? []), ...(args.length > 0 ? args : (image?.cmd ?? []))];
}

/**
 * The space that an image takes of a disk while it is pulled: its layers compressed, and unpacked to at least the same
 * size. Most layers unpack to twice their size.
 */
export function imageDiskBytesOf({ sizeBytes }: Pick<PinnedImage, 'sizeBytes'>) {
  return { diskBytesMin: 2 * sizeBytes, diskBytesEstimate: 3 * sizeBytes };
}

/** The module, or the path of a script, that a program runs with Python; empty if it runs something else. */
export function moduleOf(program: Program): string {
  if (program.kind === 'PYTHON') {
    return program.module ?? '';
  }
  const [, option, module = ''] = argvOf(program);
  return option === '-m' ? module : '';
}
