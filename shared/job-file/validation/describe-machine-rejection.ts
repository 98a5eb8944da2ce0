import {
  findAccelerator,
  findGpuEnum,
  type Gpus,
  listFamiliesThatAttachGpus,
  readCatalog,
  toAcceleratorEnum,
} from '#shared/catalog/catalog.ts';
import type { MachineRejection } from '#shared/catalog/resolve-machine.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import type { MachineFields } from '#shared/job-file/validation/machine-fields.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** Remedies list at most this many machine types. */
const TYPES_SHOWN_MAX = 6;

/** The machine type as written, and the dialect's names for the fields that requested it. */
export type RejectedMachine = { readonly machineType: string; readonly fields: MachineFields };

/** The message and remedy for a machine that cannot be chosen. */
export function describeMachineRejection(
  rejection: MachineRejection,
  { machineType, fields }: RejectedMachine,
): { readonly message: string; readonly remedy: string } {
  switch (rejection.reason) {
    case 'UNKNOWN_MACHINE_TYPE':
      return describeUnknownType(rejection.name);
    case 'MACHINE_TYPE_NOT_OFFERED':
      return {
        message: `${rejection.name} is a machine type of Compute Engine that Dropforge does not offer.`,
        remedy: 'Choose one of another family, such as n2-standard-8, c3-standard-8 or n4-standard-8.',
      };
    case 'UNKNOWN_ACCELERATOR':
      return describeUnknownAccelerator(rejection.name);
    case 'ACCELERATOR_ON_LEGACY_TYPE':
      return {
        message: `GPUs cannot be attached to ${machineType}, a legacy machine type of AI Platform.`,
        remedy: `Write ${fields.machineType}: ${rejection.means.machineType}, its Compute Engine equivalent, and keep the GPUs.`,
      };
    case 'ACCELERATOR_NOT_ATTACHABLE':
      return {
        message: `${toAcceleratorEnum(rejection.accelerator)} cannot be attached to ${machineType}: it is built into specific machine types.`,
        remedy: `Choose a ${fields.machineType} such as ${rejection.builtInTo.slice(0, TYPES_SHOWN_MAX).join(', ')}.`,
      };
    case 'ACCELERATOR_BUILT_IN':
      return {
        message: `${machineType} has ${printGpus(rejection.builtIn)} built in and accepts no other GPUs.`,
        remedy: 'Remove the GPUs, or choose the machine type that has them built in.',
      };
    case 'MACHINE_TYPE_TAKES_NO_ACCELERATOR':
      return {
        message: `GPUs cannot be attached to ${machineType}.`,
        remedy: `GPUs can be attached to ${printFamiliesThatAttachGpus()} machine types only: choose one such as n1-standard-8.`,
      };
    case 'WRONG_ACCELERATOR_COUNT':
      return {
        message: `A machine cannot have this number of ${toAcceleratorEnum(rejection.accelerator)}.`,
        remedy: `Write a count of ${rejection.counts.join(', ')}.`,
      };
    case 'MACHINE_TYPE_TOO_LARGE':
      return {
        message: `${machineType} is too large for this number of GPUs, which allows at most ${rejection.vcpusMax} vCPUs and ${rejection.memoryGibMax} GiB of memory.`,
        remedy:
          rejection.countMin === null
            ? 'Choose a smaller machine type.'
            : `Choose a smaller machine type, or a count of ${rejection.countMin}.`,
      };
  }
}

/** The form of names of machine types on AWS, with SageMaker's prefix, and on Azure. */
const OTHER_CLOUDS = /^(ml\.)?\w+(-\w+)?\.(\w*large|metal\w*|medium|small|micro)$|^Standard_/i;

/** GPUs that Google Cloud does not have, and the nearest by speed and memory that it has, as the catalog names it. */
const OTHER_GPUS: readonly (readonly [pattern: RegExp, nearest: string])[] = [
  [/^(rtx)?a?[456]000|^a40|^l40/, 'nvidia-rtx-pro-6000'],
  [/^(geforce)?rtx|^a(10|16|30)/, 'nvidia-l4'],
  [/^(geforce)?gtx|^[mp]\d+$|^t4g|^a2$|^titan/, 'nvidia-tesla-t4'],
  [/^mi\d|^gaudi|^h20$|^gh200/, 'nvidia-h200-141gb'],
  [/^v100-?32/, 'nvidia-tesla-a100'],
];

function describeUnknownType(name: string) {
  const { legacyMachineTypes, machineTypes, tpuMachineTypes } = readCatalog();
  const known = [...machineTypes, ...legacyMachineTypes, ...tpuMachineTypes].map((type) => type.name);
  return {
    message: `${quote(name)} is not a machine type${OTHER_CLOUDS.test(name) ? ' of Google Cloud, but of AWS or Azure' : ''}.`,
    remedy: `${didYouMean(name, known)}Choose one such as n1-standard-8 or a2-highgpu-1g.`,
  };
}

function describeUnknownAccelerator(name: string) {
  const simple = name
    .toLowerCase()
    .replaceAll(/[_\s]/g, '')
    .replace(/^(nvidia|amd)-?/, '');
  const [, nearest] = OTHER_GPUS.find(([pattern]) => pattern.test(simple)) ?? [];
  if (nearest !== undefined) {
    const message = `Google Cloud has no ${quote(name)}.`;
    return { message, remedy: `The nearest that it has is ${toAcceleratorEnum(nearest)}.` };
  }
  const { accelerators, tpus } = readCatalog();
  const known = [...accelerators.map((accelerator) => toAcceleratorEnum(accelerator.name)), ...tpus];
  return {
    message: `${quote(name)} is not a GPU type.`,
    remedy: `${didYouMean(findGpuEnum(name) ?? name, known)}Choose one such as NVIDIA_TESLA_T4.`,
  };
}

/** `N1`, as Google writes the names of families. */
function printFamiliesThatAttachGpus(): string {
  const names = listFamiliesThatAttachGpus().map((name) => name.toUpperCase());
  return new Intl.ListFormat('en').format(names);
}

/** `2 × T4`. */
export function printGpus({ type, count }: Gpus): string {
  return `${count} × ${findAccelerator(type)?.label ?? type}`;
}
