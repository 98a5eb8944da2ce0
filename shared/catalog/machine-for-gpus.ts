import {
  type Accelerator,
  familyOf,
  findAccelerator,
  type Gpus,
  type MachineType,
  readCatalog,
  replacementOf,
} from '#shared/catalog/catalog.ts';

/** With fewer vCPUs, GPUs wait for input data. */
const VCPUS_PER_GPU = 8;

/**
 * Chooses a machine type for GPUs; undefined if no machine has this number of them. For built-in GPUs, this is the
 * smallest machine with exactly these GPUs and at least 8 vCPUs; other GPUs are attached to an N1 machine with 8 vCPUs
 * per GPU, within the limits of Compute Engine's page "GPU machine types". Retired GPUs are replaced first.
 */
export function machineForGpus(gpu: Gpus): string | undefined {
  const accelerator = findAccelerator(gpu.type);
  if (accelerator === undefined) {
    return undefined;
  }
  const replacement = replacementOf(accelerator, gpu.count);
  if (replacement !== null) {
    return replacement && machineForGpus(replacement);
  }
  return accelerator.attach === null
    ? smallestWith({ type: accelerator.name, count: gpu.count })
    : attachableTo(accelerator, gpu.count);
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

/** Sorts by size; machine types of the same size keep the order of the catalog. */
function bySize(types: readonly MachineType[]): readonly MachineType[] {
  return [...types].sort((a, b) => a.vcpus - b.vcpus || a.memoryGib - b.memoryGib);
}
