import { findAccelerator, type Gpus, readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { MachineRefusal } from '#shared/catalog/resolve-machine.ts';
import { didYouMean } from '#shared/spec/nearest-name.ts';

/** All that AI Platform had, so that a slip in one that is not supported is not taken for one that is. */
const SCALE_TIERS = ['BASIC', 'BASIC_GPU', 'BASIC_TPU', 'STANDARD_1', 'PREMIUM_1', 'CUSTOM'];

/** Says in words why there is no such machine, and which there is. */
export function describeRefusal(
  refusal: MachineRefusal,
  machineType: string,
): { readonly message: string; readonly remedy: string } {
  const { accelerators, legacyMachineTypes, machineTypes } = readCatalog();
  switch (refusal.reason) {
    case 'UNKNOWN_MACHINE_TYPE':
      return {
        message: `There is no machine type "${refusal.name}".`,
        remedy: `${didYouMean(
          refusal.name,
          [...machineTypes, ...legacyMachineTypes].map(({ name }) => name),
        )}Choose one such as n1-standard-8 or a2-highgpu-1g.`,
      };
    case 'UNKNOWN_SCALE_TIER':
      return {
        message: `There is no scale tier "${refusal.name}".`,
        remedy: `${didYouMean(refusal.name, SCALE_TIERS)}Write BASIC, BASIC_GPU, or CUSTOM with a masterType.`,
      };
    case 'UNKNOWN_ACCELERATOR':
      return {
        message: `There is no GPU "${refusal.name}".`,
        remedy: `${didYouMean(
          refusal.name,
          accelerators.map(({ name }) => toAcceleratorEnum(name)),
        )}Choose one such as NVIDIA_TESLA_T4.`,
      };
    case 'ACCELERATOR_ON_LEGACY_TYPE':
      return {
        message: `${machineType} is a name of AI Platform, and such machines take no acceleratorConfig.`,
        remedy: `Write masterType: ${refusal.means.machineType}, which it stands for, and keep the acceleratorConfig.`,
      };
    case 'ACCELERATOR_NOT_ATTACHABLE':
      return {
        message: `${toAcceleratorEnum(refusal.accelerator)} cannot be attached to ${machineType}: it is built into machine types of its own.`,
        remedy: `Choose one of ${refusal.builtInTo.join(', ')}, without acceleratorConfig.`,
      };
    case 'ACCELERATOR_BUILT_IN':
      return {
        message: `${machineType} has ${printGpus(refusal.builtIn)} built in, and takes no others.`,
        remedy: 'Remove the acceleratorConfig, or choose the machine type that has what it says.',
      };
    case 'MACHINE_TYPE_TAKES_NO_ACCELERATOR':
      return {
        message: `${machineType} takes no GPUs.`,
        remedy: 'GPUs can be attached to N1: choose a machine type such as n1-standard-8.',
      };
    case 'WRONG_ACCELERATOR_COUNT':
      return {
        message: `A machine cannot have that many ${toAcceleratorEnum(refusal.accelerator)}.`,
        remedy: `Write a count of ${refusal.counts.join(', ')}.`,
      };
    case 'MACHINE_TYPE_TOO_LARGE':
      return {
        message: `${machineType} is too large for so few GPUs: they allow ${refusal.vcpusMax} vCPUs and ${refusal.memoryGibMax} GiB.`,
        remedy:
          refusal.countMin === null
            ? 'Choose a smaller machine type.'
            : `Choose a smaller machine type, or a count of ${refusal.countMin}.`,
      };
  }
}

/** `2 × T4`, as people say it. */
export function printGpus({ type, count }: Gpus): string {
  return `${count} × ${findAccelerator(type)?.label ?? type}`;
}
