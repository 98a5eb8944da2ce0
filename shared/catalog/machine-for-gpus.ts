import {
  type Accelerator,
  familyOf,
  findAccelerator,
  type Gpus,
  type MachineType,
  readCatalog,
} from '#shared/catalog/catalog.ts';

/** Fewer vCPUs than these starve a GPU of data, the first one above all. */
const VCPUS_PER_GPU = 8;

/**
 * The machine type for somebody who has only named GPUs; undefined where no machine has so many of them. Built-in GPUs
 * bring the smallest machine with exactly these and at least 8 vCPUs; others are attached to an N1 with 8 for each, as
 * far as Compute Engine's page "GPU machine types" allows. Retired GPUs count as what takes their place.
 */
export function machineForGpus(gpu: Gpus): string | undefined {
  const accelerator = findAccelerator(gpu.type);
  if (accelerator === undefined) {
    return undefined;
  }
  const now = replacementOf(accelerator, gpu.count);
  if (now !== null) {
    return now && machineForGpus(now);
  }
  return accelerator.attach === null
    ? smallestWith({ type: accelerator.name, count: gpu.count })
    : attachableTo(accelerator, gpu.count);
}

/** Null where the GPU is still to be had, undefined where it never came in this count. */
function replacementOf({ replacement }: Accelerator, count: number): Gpus | null | undefined {
  if (replacement === null) {
    return null;
  }
  const countNow = replacement.counts[String(count)];
  return countNow === undefined ? undefined : { type: replacement.type, count: countNow };
}

function smallestWith({ type, count }: Gpus): string | undefined {
  const fitting = readCatalog().machineTypes.filter(
    ({ gpu, vcpus }) => gpu?.type === type && gpu.count === count && vcpus >= VCPUS_PER_GPU,
  );
  return bySize(fitting)[0]?.name;
}

function attachableTo({ attach }: Accelerator, count: number): string | undefined {
  const rule = attach?.find((candidate) => candidate.count === count);
  if (rule === undefined) {
    return undefined;
  }
  const fitting = bySize(
    readCatalog().machineTypes.filter(
      ({ name, vcpus, memoryGib }) =>
        name.includes('-standard-') &&
        familyOf(name).attachesGpus &&
        vcpus <= rule.vcpusMax &&
        memoryGib <= rule.memoryGibMax,
    ),
  );
  return (fitting.find(({ vcpus }) => vcpus >= count * VCPUS_PER_GPU) ?? fitting.at(-1))?.name;
}

/** Of two of the same size, the catalog's first stays first. */
function bySize(types: readonly MachineType[]): readonly MachineType[] {
  return [...types].sort((a, b) => a.vcpus - b.vcpus || a.memoryGib - b.memoryGib);
}
