import { findAccelerator, type Gpus, readCatalog, toAcceleratorEnum } from '#shared/catalog/catalog.ts';
import type { MachineRefusal } from '#shared/catalog/resolve-machine.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import type { MachineFields } from '#shared/job-file/validation/machine-fields.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** So many machine types are named to choose from: the list is to be read. */
const TYPES_SHOWN_MAX = 6;

export type RefusedMachine = { readonly machineType: string; readonly fields: MachineFields };

/**
 * Says in words why there is no such machine, and which there is; `fields` are the dialect's names for where to say
 * it.
 */
export function describeRefusal(
  refusal: MachineRefusal,
  { machineType, fields }: RefusedMachine,
): { readonly message: string; readonly remedy: string } {
  switch (refusal.reason) {
    case 'UNKNOWN_MACHINE_TYPE':
      return describeUnknownType(refusal.name);
    case 'UNKNOWN_ACCELERATOR':
      return describeUnknownAccelerator(refusal.name);
    case 'ACCELERATOR_ON_LEGACY_TYPE':
      return {
        message: `${machineType} is a name of AI Platform, and such machines take no GPUs of their own choice.`,
        remedy: `Write ${fields.machineType}: ${refusal.means.machineType}, which it stands for, and keep the GPUs.`,
      };
    case 'ACCELERATOR_NOT_ATTACHABLE':
      return {
        message: `${toAcceleratorEnum(refusal.accelerator)} cannot be attached to ${machineType}: it is built into machine types of its own.`,
        remedy: `Choose a ${fields.machineType} such as ${refusal.builtInTo.slice(0, TYPES_SHOWN_MAX).join(', ')}.`,
      };
    case 'ACCELERATOR_BUILT_IN':
      return {
        message: `${machineType} has ${printGpus(refusal.builtIn)} built in, and takes no others.`,
        remedy: 'Leave the GPUs out, or choose the machine type that has those.',
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

function describeUnknownType(name: string) {
  const { legacyMachineTypes, machineTypes, tpuMachineTypes } = readCatalog();
  const known = [...machineTypes, ...legacyMachineTypes, ...tpuMachineTypes].map((type) => type.name);
  return {
    message: `There is no machine type ${quote(name)}.`,
    remedy: `${didYouMean(name, known)}Choose one such as n1-standard-8 or a2-highgpu-1g.`,
  };
}

function describeUnknownAccelerator(name: string) {
  const { accelerators, tpus } = readCatalog();
  const known = [...accelerators.map((accelerator) => toAcceleratorEnum(accelerator.name)), ...tpus];
  return {
    message: `There is no GPU ${quote(name)}.`,
    remedy: `${didYouMean(name, known)}Choose one such as NVIDIA_TESLA_T4.`,
  };
}

/** `2 × T4`, as people say it. */
export function printGpus({ type, count }: Gpus): string {
  return `${count} × ${findAccelerator(type)?.label ?? type}`;
}
