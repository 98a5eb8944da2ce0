import type { ApiRegion, ApiResponses } from '#infra/tools/refresh-catalog/api-responses.ts';
import { describeZones, type MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import { mergeMachineTypes } from '#infra/tools/refresh-catalog/merge-machine-types.ts';
import { mergePrices } from '#infra/tools/refresh-catalog/merge-prices.ts';
import type { Accelerator, Catalog } from '#shared/catalog/catalog.ts';

/**
 * Replaces the catalog's regions, zones, machine sizes and prices by those of the APIs. Keeps facts that no API
 * provides: families, attachment rules of GPUs, provisioning models, AI Platform's names and tiers, notes.
 */
export function mergeCatalog(catalog: Catalog, responses: ApiResponses): MergedCatalog {
  const regions = mergeRegions(catalog, responses.regions);
  const zones = new Set(Object.values(regions.catalog.regions).flat());
  const types = mergeMachineTypes(regions.catalog, {
    ...responses,
    machineTypes: responses.machineTypes.filter(({ zone }) => zones.has(zone)),
  });
  const accelerators = mergeAccelerators(types.catalog, {
    ...responses,
    accelerators: responses.accelerators.filter(({ zone }) => zones.has(zone)),
  });
  const prices = mergePrices(accelerators.catalog, responses.skus ?? []);
  const parts = responses.skus === null ? [regions, types, accelerators] : [regions, types, accelerators, prices];
  const changes = parts.flatMap((part) => part.changes);
  const merged = responses.skus === null ? accelerators.catalog : prices.catalog;
  return {
    catalog: changes.length === 0 ? merged : withSources(merged, responses),
    changes,
    reviewNotes: parts.flatMap((part) => part.reviewNotes),
  };
}

function mergeRegions(catalog: Catalog, responses: readonly ApiRegion[]): MergedCatalog {
  const entries = responses
    .map(({ name, zones }) => [name, zones.filter((zone) => isStandardZone(name, zone))] as const)
    .filter(([, zones]) => zones.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const regions = Object.fromEntries(entries.map(([name, zones]) => [name, [...zones].sort()]));
  const names = [...new Set([...Object.keys(catalog.regions), ...Object.keys(regions)])];
  const changes = names
    .map((name) => ({ name, change: describeZones(catalog.regions[name] ?? [], regions[name] ?? []) }))
    .filter(({ change }) => change !== '');
  return { catalog: { ...catalog, regions }, changes, reviewNotes: [] };
}

/** Returns whether this is a standard zone; AI zones (`us-south1-ai1b`) have few machine types and limited access. */
function isStandardZone(region: string, zone: string): boolean {
  return zone.length === region.length + 2 && zone.startsWith(`${region}-`);
}

function mergeAccelerators(catalog: Catalog, responses: ApiResponses): MergedCatalog {
  const accelerators = catalog.accelerators.map((accelerator) => withZones(accelerator, responses));
  const changes = accelerators.flatMap(({ name, zones }, index) => {
    const change = describeZones(catalog.accelerators[index]?.zones ?? [], zones);
    return change === '' ? [] : [{ name, change }];
  });
  const known = new Set(catalog.accelerators.map(({ name }) => name));
  const unknown = new Set(responses.accelerators.map(({ name }) => name).filter((name) => !known.has(name)));
  // TPUs and virtual workstations (vws) are not GPUs for training.
  const gpus = [...unknown].filter((name) => name.startsWith('nvidia-') && !name.endsWith('-vws')).sort();
  const reviewNotes = gpus.map((name) => `${name} is new: add its label, memory and rules manually.`);
  return { catalog: { ...catalog, accelerators }, changes, reviewNotes };
}

/** Built-in GPUs have the zones of their machine types. */
function withZones(accelerator: Accelerator, responses: ApiResponses): Accelerator {
  if (accelerator.attach === null) {
    return accelerator;
  }
  const zones = responses.accelerators.filter(({ name }) => name === accelerator.name).map(({ zone }) => zone);
  return { ...accelerator, zones: [...new Set(zones)].sort() };
}

function withSources(catalog: Catalog, { day, skus }: ApiResponses): Catalog {
  const own = [
    { api: 'Compute Engine API', provided: 'regions, zones and shapes' },
    ...(skus === null ? [] : [{ api: 'Cloud Billing Catalog API', provided: 'prices' }]),
  ];
  const others = catalog.sources.filter((source) => !own.some(({ api }) => source.startsWith(`${api}, `)));
  const sources = [...others, ...own.map(({ api, provided }) => `${api}, read on ${day}: ${provided}`)];
  return { ...catalog, asOf: skus === null ? catalog.asOf : day, sources };
}
