import type { Sku } from '#infra/tools/refresh-catalog/api-answers.ts';
import type { Change, MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import { type Accelerator, type Catalog, familyOf, type MachineType } from '#shared/catalog/catalog.ts';

/** Prices of machine types are kept to five decimals; what differs by less is the same. */
const ROUNDING_USD = 1.5e-5;

type UsageType = 'OnDemand' | 'Preemptible';

/** Takes over list prices in the catalog's region, for what is billed by cores, memory and GPUs alone. */
export function mergePrices(catalog: Catalog, skus: readonly Sku[]): MergedCatalog {
  const here = skus.filter(({ regions }) => regions.includes(catalog.priceRegion));
  const accelerators = catalog.accelerators.map((accelerator) => priceAccelerator(accelerator, here));
  const machineTypes = catalog.machineTypes.map((type) => priceMachineType(type, { catalog, skus: here }));
  const all = [...accelerators, ...machineTypes];
  const before = [...catalog.accelerators, ...catalog.machineTypes];
  const hasSku = (priced: Accelerator | MachineType) =>
    ('skuPrefix' in priced ? priced : familyOf(priced.name, catalog)).skuPrefix !== null;
  const missing = all.filter((priced, index) => hasSku(priced) && priced === before[index]);
  return {
    catalog: { ...catalog, accelerators, machineTypes },
    changes: all.flatMap((priced, index) => listChanges(priced, before[index])),
    doubts: missing.map(({ name }) => `${name} has no price in the Cloud Billing Catalog: the old one is kept.`),
  };
}

function priceAccelerator(accelerator: Accelerator, skus: readonly Sku[]): Accelerator {
  return withPrices(
    accelerator,
    gpuPerHourUsd(accelerator, skus, 'OnDemand'),
    gpuPerHourUsd(accelerator, skus, 'Preemptible'),
  );
}

function priceMachineType(type: MachineType, source: PriceSource): MachineType {
  const priced = withPrices(type, perHourUsd(type, source, 'OnDemand'), perHourUsd(type, source, 'Preemptible'));
  // Where Flex-start costs as much as on demand, it still does.
  const isUndiscounted = type.flexStartPerHourUsd !== null && type.flexStartPerHourUsd === type.onDemandPerHourUsd;
  return isUndiscounted ? { ...priced, flexStartPerHourUsd: priced.onDemandPerHourUsd } : priced;
}

/** The very same object where no price was found, which is how the caller knows. */
function withPrices<T extends Pick<MachineType, 'onDemandPerHourUsd' | 'spotPerHourUsd'>>(
  priced: T,
  onDemandUsd: number | null,
  spotUsd: number | null,
): T {
  if (onDemandUsd === null && spotUsd === null) {
    return priced;
  }
  const onDemandPerHourUsd = settle(priced.onDemandPerHourUsd, onDemandUsd);
  const spotPerHourUsd = settle(priced.spotPerHourUsd, spotUsd);
  return { ...priced, onDemandPerHourUsd, spotPerHourUsd };
}

function settle(before: number | null, now: number | null): number | null {
  return now === null || (before !== null && Math.abs(before - now) < ROUNDING_USD) ? before : now;
}

type PriceSource = { readonly catalog: Catalog; readonly skus: readonly Sku[] };

function perHourUsd(
  { name, vcpus, memoryGib, gpu }: MachineType,
  { catalog, skus }: PriceSource,
  usage: UsageType,
): number | null {
  const { skuPrefix } = familyOf(name, catalog);
  const accelerator = catalog.accelerators.find((candidate) => candidate.name === gpu?.type);
  if (skuPrefix === null || (gpu !== null && accelerator === undefined)) {
    return null;
  }
  const spot = usage === 'Preemptible' ? 'Spot Preemptible ' : '';
  const core = findPrice(skus, usage, `${spot}${skuPrefix} Core`);
  const memory = findPrice(skus, usage, `${spot}${skuPrefix} Ram`);
  const each = accelerator === undefined ? 0 : gpuPerHourUsd(accelerator, skus, usage);
  if (core === null || memory === null || each === null) {
    return null;
  }
  return Math.round((vcpus * core + memoryGib * memory + (gpu?.count ?? 0) * each) * 1e5) / 1e5;
}

function gpuPerHourUsd({ skuPrefix }: Accelerator, skus: readonly Sku[], usage: UsageType): number | null {
  const description = `${skuPrefix} GPU${usage === 'OnDemand' ? '' : ' attached to Spot Preemptible VMs'}`;
  return skuPrefix === null ? null : findPrice(skus, usage, description);
}

/** Null where there is none, or where several disagree. */
function findPrice(skus: readonly Sku[], usage: UsageType, words: string): number | null {
  const found = skus.filter(
    ({ usageType, description }) => usageType === usage && description.startsWith(`${words} running in `),
  );
  const prices = new Set(found.map(({ perUnitUsd }) => perUnitUsd));
  const [price] = prices;
  return prices.size === 1 && price !== undefined && price !== 0 ? price : null;
}

type Priced = Pick<MachineType, 'name' | 'onDemandPerHourUsd' | 'spotPerHourUsd'>;

function listChanges(now: Priced, before: Priced | undefined): readonly Change[] {
  const changed = [
    { what: 'on demand', from: before?.onDemandPerHourUsd, to: now.onDemandPerHourUsd },
    { what: 'as Spot', from: before?.spotPerHourUsd, to: now.spotPerHourUsd },
  ].filter(({ from, to }) => from !== to);
  return changed.map(({ what, from, to }) => ({ name: now.name, change: `costs ${to} ${what}, not ${from}` }));
}
