import { familyOf } from '#shared/catalog/catalog.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

/**
 * What a runtime's VMs boot from: machine images (several copies, because Compute Engine limits how often one is used),
 * or a custom image, which has no such limit and goes where machine images cannot. Short names are the project's own.
 * The setting RUNTIME_IMAGES is read into this (functions/settings.ts).
 */
export type RuntimeImage = {
  readonly machineImages: readonly string[];
  readonly image?: string | undefined;
  /** Another runtime, which stands in for this one. */
  readonly runtime?: string | undefined;
};

/** By runtime version: the name that placements carry. */
export type RuntimeImages = Readonly<Record<string, RuntimeImage>>;

/** The runtime that a version gets: its own or the one that stands in for it. Undefined where it is not known. */
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

/** The disk that every machine image of Dropforge is made with (infra/machine-image). */
export const MACHINE_IMAGE_DISK = { bootDiskGib: 100, bootDiskType: 'pd-ssd' } as const;

/**
 * What this VM may boot from, the first choice first; nothing where the runtime is not known. A machine image keeps
 * its own disk, so that another size or type takes the custom image where there is one; where there is none, intake
 * has refused the size and warned of the type. Else it is the copies of the machine image, from the one on whose turn
 * it is (derived from the VM, so that a repeated request is the same one); and last the custom image, whose pace has
 * no limit.
 */
export function listBootSources(images: RuntimeImages, request: VmRequest, turn: number): readonly BootSource[] {
  const runtime = findRuntime(images, request.machineImage)?.image;
  if (runtime === undefined) {
    return [];
  }
  const isOwnDisk =
    request.bootDiskGib === MACHINE_IMAGE_DISK.bootDiskGib && request.bootDiskType === MACHINE_IMAGE_DISK.bootDiskType;
  const takesImage = !familyOf(request.machineType).bootsFromMachineImages || !isOwnDisk;
  const { machineImages, image } = runtime;
  const custom = image === undefined ? [] : [{ image }];
  if (takesImage && custom.length > 0) {
    return custom;
  }
  const first = turn % Math.max(1, machineImages.length);
  const copies = [...machineImages.slice(first), ...machineImages.slice(0, first)];
  return [...copies.map((machineImage) => ({ machineImage })), ...custom];
}
