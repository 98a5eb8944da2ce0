import { familyOf } from '#shared/catalog/catalog.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

/**
 * The source from which the VMs of a runtime version boot: machine images (several copies, because Compute Engine
 * limits how often one is used), or a custom image, which has no such limit and works where machine images are not
 * supported. Short names refer to the deployment's own project. Parsed from the setting RUNTIME_IMAGES
 * (functions/settings.ts).
 */
export type RuntimeImage = {
  readonly machineImages: readonly string[];
  readonly image?: string | undefined;
  /** The runtime version that replaces this one. */
  readonly runtime?: string | undefined;
};

/** By runtime version, which is the name that placements carry. */
export type RuntimeImages = Readonly<Record<string, RuntimeImage>>;

/** The runtime of a version, or the one that replaces it; undefined if the deployment has neither. */
export function findRuntime<Image extends { readonly runtime?: string | undefined }>(
  images: Readonly<Record<string, Image>>,
  version: string,
): { readonly name: string; readonly image: Image } | undefined {
  const entry = Object.hasOwn(images, version) ? images[version] : undefined;
  const name = entry?.runtime ?? version;
  const image = name === version ? entry : Object.hasOwn(images, name) ? images[name] : undefined;
  return image && { name, image };
}

export type BootSource = { readonly machineImage: string } | { readonly image: string };

/** The disk of every Dropforge machine image (infra/machine-image). */
export const MACHINE_IMAGE_DISK = { bootDiskGib: 100, bootDiskType: 'pd-ssd' } as const;

/**
 * The sources that a VM can boot from, in order of preference; empty if the runtime is unknown.
 *
 * A machine image has a fixed disk, so a request for another disk size or type uses the custom image if there is one;
 * without one, intake has already rejected the size and warned about the type. All other VMs use the copies of the
 * machine image, starting at index `rotation` (derived from the VM, so that a repeated request uses the same copy), and
 * then the custom image, which is not rate-limited.
 */
export function listBootSources(images: RuntimeImages, request: VmRequest, rotation: number): readonly BootSource[] {
  const runtime = findRuntime(images, request.machineImage)?.image;
  if (runtime === undefined) {
    return [];
  }
  const hasMachineImageDisk =
    request.bootDiskGib === MACHINE_IMAGE_DISK.bootDiskGib && request.bootDiskType === MACHINE_IMAGE_DISK.bootDiskType;
  const prefersImage = !familyOf(request.machineType).bootsFromMachineImages || !hasMachineImageDisk;
  const { machineImages, image } = runtime;
  const custom = image === undefined ? [] : [{ image }];
  if (request.kmsKeyName !== null) {
    // Without an image, no VM rather than one whose disk has another key.
    return custom;
  }
  if (prefersImage && custom.length > 0) {
    return custom;
  }
  const first = rotation % Math.max(1, machineImages.length);
  const copies = [...machineImages.slice(first), ...machineImages.slice(0, first)];
  return [...copies.map((machineImage) => ({ machineImage })), ...custom];
}
