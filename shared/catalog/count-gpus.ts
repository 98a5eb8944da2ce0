import { findMachineType, findTpuMachineType, type Machine } from '#shared/catalog/catalog.ts';

/** The GPUs of one machine: those that are attached to it, or that its type has in itself. */
export function countGpus({ machineType, accelerator }: Machine): number {
  return accelerator?.count ?? findMachineType(machineType)?.gpu?.count ?? 0;
}

export function isTpuMachine({ machineType }: Machine): boolean {
  return findTpuMachineType(machineType) !== undefined;
}
