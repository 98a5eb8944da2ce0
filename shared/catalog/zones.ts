import { findAccelerator, findMachineType, type Machine, readCatalog } from '#shared/catalog/catalog.ts';

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
  return findAccelerator(accelerator.type)?.zones.includes(zone) === true;
}
