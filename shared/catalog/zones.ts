import {
  type Accelerator,
  findAccelerator,
  findMachineType,
  type Machine,
  type MachineType,
  readCatalog,
} from '#shared/catalog/catalog.ts';

export function isRegion(name: string): boolean {
  return Object.hasOwn(readCatalog().regions, name);
}

export function listRegions(): readonly string[] {
  return Object.keys(readCatalog().regions);
}

/**
 * The zones of a region that have all of the machines, sorted by name. Machines that are not in the catalog have none.
 */
export function zonesFor(region: string, machines: readonly Machine[]): readonly string[] {
  const zones = readCatalog().regions[region] ?? [];
  return zones.filter((zone) => machines.every((machine) => isAvailableIn(zone, machine))).sort();
}

/** The regions with a zone that has all of the machines. */
export function regionsFor(machines: readonly Machine[]): readonly string[] {
  return listRegions().filter((region) => zonesFor(region, machines).length > 0);
}

function isAvailableIn(zone: string, { machineType, accelerator }: Machine): boolean {
  const type = findMachineType(machineType);
  if (type === undefined || readCatalog().availability[type.availability]?.includes(zone) !== true) {
    return false;
  }
  if (accelerator === null) {
    return true;
  }
  const found = findAccelerator(accelerator.type);
  return (
    found?.zones.includes(zone) === true && isAttachableIn(zone, { type, accelerator: found, count: accelerator.count })
  );
}

/** Some zones limit machines with four P100 GPUs further (Compute Engine docs, "GPU machine types"). */
function isAttachableIn(
  zone: string,
  {
    type,
    accelerator,
    count,
  }: { readonly type: MachineType; readonly accelerator: Accelerator; readonly count: number },
): boolean {
  const rule = accelerator.attach?.find((candidate) => candidate.count === count);
  const limits = rule?.exceptions.find((exception) => exception.zone === zone) ?? rule;
  return limits !== undefined && type.vcpus <= limits.vcpusMax && type.memoryGib <= limits.memoryGibMax;
}
