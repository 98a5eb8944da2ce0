import type { Sku } from '#infra/tools/refresh-catalog/api-responses.ts';
import type { Change, MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import { type Accelerator, type Catalog, familyOf, type MachineType } from '#shared/catalog/catalog.ts';

/** Prices of machine types have five decimals; smaller differences are ignored. */
const ROUNDING_USD = 1.5e-5;

type UsageType = 'OnDemand' | 'Preemptible';

/** Updates list prices in the catalog's region, for machine types billed by cores, memory and GPUs only. */
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
    reviewNotes: missing.map(
      ({ name }) => `${name} has no price in the Cloud Billing Catalog: the previous price is kept.`,
    ),
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
  // If Flex-start had no discount, it still has none.
  const isUndiscounted = type.flexStartPerHourUsd !== null && type.flexStartPerHourUsd === type.onDemandPerHourUsd;
  return isUndiscounted ? { ...priced, flexStartPerHourUsd: priced.onDemandPerHourUsd } : priced;
}

/** Returns the same object if no price was found; the caller compares identity. */
function withPrices<T extends Pick<MachineType, 'onDemandPerHourUsd' | 'spotPerHourUsd'>>(
  priced: T,
  onDemandUsd: number | null,
  spotUsd: number | null,
): T {
  if (onDemandUsd === null && spotUsd === null) {
    return priced;
  }
  const onDemandPerHourUsd = updatePrice(priced.onDemandPerHourUsd, onDemandUsd);
  const spotPerHourUsd = updatePrice(priced.spotPerHourUsd, spotUsd);
  return { ...priced, onDemandPerHourUsd, spotPerHourUsd };
}

function updatePrice(before: number | null, now: number | null): number | null {
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

/** The price of SKUs whose description starts with a prefix; null if there is none or they differ. */
function findPrice(skus: readonly Sku[], usage: UsageType, prefix: string): number | null {
  const found = skus.filter(
    ({ usageType, description }) => usageType === usage && description.startsWith(`${prefix} running in `),
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
