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
 * The zones of a region in which every one of the machines exists, by name. Empty where there is none; a machine that
 * the catalog does not know exists nowhere.
 */
export function zonesFor(region: string, machines: readonly Machine[]): readonly string[] {
  const zones = readCatalog().regions[region] ?? [];
  return zones.filter((zone) => machines.every((machine) => existsIn(zone, machine))).sort();
}

/** The regions that have a zone for all of the machines. */
export function regionsFor(machines: readonly Machine[]): readonly string[] {
  return listRegions().filter((region) => zonesFor(region, machines).length > 0);
}

function existsIn(zone: string, { machineType, accelerator }: Machine): boolean {
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

/** Four P100 allow less of a machine in some zones (Compute Engine docs, "GPU machine types"). */
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
