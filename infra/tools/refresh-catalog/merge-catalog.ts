import type { ApiAnswers, ApiRegion } from '#infra/tools/refresh-catalog/api-answers.ts';
import { describeZones, type MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import { mergeMachineTypes } from '#infra/tools/refresh-catalog/merge-machine-types.ts';
import { mergePrices } from '#infra/tools/refresh-catalog/merge-prices.ts';
import type { Accelerator, Catalog } from '#shared/catalog/catalog.ts';

/**
 * The catalog with the APIs' regions, zones, shapes and prices in place of its own. What no API says stays: which GPUs
 * can be attached to what, provisioning models, AI Platform's names and tiers, notes.
 */
export function mergeCatalog(catalog: Catalog, answers: ApiAnswers): MergedCatalog {
  const regions = mergeRegions(catalog, answers.regions);
  const zones = new Set(Object.values(regions.catalog.regions).flat());
  const types = mergeMachineTypes(regions.catalog, {
    ...answers,
    machineTypes: answers.machineTypes.filter(({ zone }) => zones.has(zone)),
  });
  const accelerators = mergeAccelerators(types.catalog, {
    ...answers,
    accelerators: answers.accelerators.filter(({ zone }) => zones.has(zone)),
  });
  const prices = mergePrices(accelerators.catalog, answers.skus ?? []);
  const parts = answers.skus === null ? [regions, types, accelerators] : [regions, types, accelerators, prices];
  const changes = parts.flatMap((part) => part.changes);
  const merged = answers.skus === null ? accelerators.catalog : prices.catalog;
  return {
    catalog: changes.length === 0 ? merged : withSources(merged, answers),
    changes,
    doubts: parts.flatMap((part) => part.doubts),
  };
}

function mergeRegions(catalog: Catalog, answers: readonly ApiRegion[]): MergedCatalog {
  const entries = answers
    .map(({ name, zones }) => [name, zones.filter((zone) => isOpenTo(name, zone))] as const)
    .filter(([, zones]) => zones.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const regions = Object.fromEntries(entries.map(([name, zones]) => [name, [...zones].sort()]));
  const names = [...new Set([...Object.keys(catalog.regions), ...Object.keys(regions)])];
  const changes = names
    .map((name) => ({ name, change: describeZones(catalog.regions[name] ?? [], regions[name] ?? []) }))
    .filter(({ change }) => change !== '');
  return { catalog: { ...catalog, regions }, changes, doubts: [] };
}

/** Zones with other names, such as AI zones (`us-south1-ai1b`), have few machine types and are not for everybody. */
function isOpenTo(region: string, zone: string): boolean {
  return zone.length === region.length + 2 && zone.startsWith(`${region}-`);
}

function mergeAccelerators(catalog: Catalog, answers: ApiAnswers): MergedCatalog {
  const accelerators = catalog.accelerators.map((accelerator) => withZones(accelerator, answers));
  const changes = accelerators.flatMap(({ name, zones }, index) => {
    const change = describeZones(catalog.accelerators[index]?.zones ?? [], zones);
    return change === '' ? [] : [{ name, change }];
  });
  const known = new Set(catalog.accelerators.map(({ name }) => name));
  const strangers = new Set(answers.accelerators.map(({ name }) => name).filter((name) => !known.has(name)));
  // TPUs and workstations for graphics (vws) are no GPUs to train on.
  const gpus = [...strangers].filter((name) => name.startsWith('nvidia-') && !name.endsWith('-vws')).sort();
  const doubts = gpus.map((name) => `${name} is new: its label, memory and rules are to be written by hand.`);
  return { catalog: { ...catalog, accelerators }, changes, doubts };
}

/** The zones of GPUs that are built in are those of their machine types. */
function withZones(accelerator: Accelerator, answers: ApiAnswers): Accelerator {
  if (accelerator.attach === null) {
    return accelerator;
  }
  const zones = answers.accelerators.filter(({ name }) => name === accelerator.name).map(({ zone }) => zone);
  return { ...accelerator, zones: [...new Set(zones)].sort() };
}

function withSources(catalog: Catalog, { day, skus }: ApiAnswers): Catalog {
  const own = [
    { api: 'Compute Engine API', gave: 'regions, zones and shapes' },
    ...(skus === null ? [] : [{ api: 'Cloud Billing Catalog API', gave: 'prices' }]),
  ];
  const others = catalog.sources.filter((source) => !own.some(({ api }) => source.startsWith(`${api}, `)));
  const sources = [...others, ...own.map(({ api, gave }) => `${api}, read on ${day}: ${gave}`)];
  return { ...catalog, asOf: skus === null ? catalog.asOf : day, sources };
}
