import type { Sku } from '#infra/tools/refresh-catalog/api-answers.ts';
import type { Change, MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import type { Accelerator, Catalog, MachineType } from '#shared/catalog/catalog.ts';

/**
 * How the Cloud Billing Catalog begins the descriptions of a series' cores and memory (`N2 Instance Core running in
 * Americas`). Series whose machine types come with local SSD are left out: it is billed apart, and the catalog does not
 * say how much of it there is.
 */
const SERIES_WORDS: Readonly<Record<string, string>> = {
  n1: 'N1 Predefined Instance',
  e2: 'E2 Instance',
  n2: 'N2 Instance',
  n2d: 'N2D AMD Instance',
  n4: 'N4 Instance',
  c2: 'Compute optimized',
  c2d: 'C2D AMD Instance',
  c3: 'C3 Instance',
  c3d: 'C3D Instance',
  t2d: 'T2D AMD Instance',
  m1: 'Memory-optimized Instance',
  a2: 'A2 Instance',
  g2: 'G2 Instance',
};

/** The same for GPUs; `a2-ultragpu` has local SSD, and its A100-80GB is not among them. */
const GPU_WORDS: Readonly<Record<string, string>> = {
  'nvidia-tesla-t4': 'Nvidia Tesla T4',
  'nvidia-tesla-p4': 'Nvidia Tesla P4',
  'nvidia-tesla-p100': 'Nvidia Tesla P100',
  'nvidia-tesla-v100': 'Nvidia Tesla V100',
  'nvidia-tesla-a100': 'Nvidia Tesla A100',
  'nvidia-l4': 'Nvidia L4',
};

/** Prices of machine types are kept to five decimals; what differs by less is the same. */
const ROUNDING_USD = 1.5e-5;

type UsageType = 'OnDemand' | 'Preemptible';

/** Takes over list prices in the catalog's region, for what is billed by cores, memory and GPUs alone. */
export function mergePrices(catalog: Catalog, skus: readonly Sku[]): MergedCatalog {
  const here = skus.filter(({ regions }) => regions.includes(catalog.priceRegion));
  const accelerators = catalog.accelerators.map((accelerator) => priceAccelerator(accelerator, here));
  const machineTypes = catalog.machineTypes.map((type) => priceMachineType(type, here));
  const all = [...accelerators, ...machineTypes];
  const before = [...catalog.accelerators, ...catalog.machineTypes];
  const isPriced = ({ name }: { readonly name: string }) => Object.hasOwn(GPU_WORDS, name) || wordsOf(name) !== null;
  const missing = all.filter((priced, index) => isPriced(priced) && priced === before[index]);
  return {
    catalog: { ...catalog, accelerators, machineTypes },
    changes: all.flatMap((priced, index) => listChanges(priced, before[index])),
    doubts: missing.map(({ name }) => `${name} has no price in the Cloud Billing Catalog: the old one is kept.`),
  };
}

function priceAccelerator(accelerator: Accelerator, skus: readonly Sku[]): Accelerator {
  const words = GPU_WORDS[accelerator.name];
  const onDemand = words && findPrice(skus, 'OnDemand', gpuWords(words, 'OnDemand'));
  const spot = words && findPrice(skus, 'Preemptible', gpuWords(words, 'Preemptible'));
  return withPrices(accelerator, onDemand || null, spot || null);
}

function priceMachineType(type: MachineType, skus: readonly Sku[]): MachineType {
  const priced = withPrices(type, perHourUsd(type, skus, 'OnDemand'), perHourUsd(type, skus, 'Preemptible'));
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

function perHourUsd({ name, vcpus, memoryGib, gpu }: MachineType, skus: readonly Sku[], usage: UsageType) {
  const words = wordsOf(name);
  const ofGpu = gpu === null ? undefined : GPU_WORDS[gpu.type];
  if (words === null || (gpu !== null && ofGpu === undefined)) {
    return null;
  }
  const spot = usage === 'Preemptible' ? 'Spot Preemptible ' : '';
  const core = findPrice(skus, usage, `${spot}${words} Core`);
  const memory = findPrice(skus, usage, `${spot}${words} Ram`);
  const each = ofGpu === undefined ? 0 : findPrice(skus, usage, gpuWords(ofGpu, usage));
  if (core === null || memory === null || each === null) {
    return null;
  }
  return Math.round((vcpus * core + memoryGib * memory + (gpu?.count ?? 0) * each) * 1e5) / 1e5;
}

function wordsOf(machineType: string): string | null {
  const series = machineType.split('-')[0] ?? '';
  return machineType.startsWith('a2-ultragpu') ? null : (SERIES_WORDS[series] ?? null);
}

function gpuWords(words: string, usage: UsageType): string {
  return usage === 'OnDemand' ? `${words} GPU` : `${words} GPU attached to Spot Preemptible VMs`;
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
