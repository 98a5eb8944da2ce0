import type { ApiMachineType, ApiResponses } from '#infra/tools/refresh-catalog/api-responses.ts';
import { type Change, describeZones, type MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import type { Catalog, MachineType } from '#shared/catalog/catalog.ts';

/** `n4-standard-8`; excludes variants with local SSD, bare metal and so on, few of which are in the catalog. */
const PLAIN_NAME = /^([a-z]\d+[a-z]?)-([a-z]+)-\d+g?$/;

/** Updates sizes and zones of machine types, and adds new machine types of known series. */
export function mergeMachineTypes(catalog: Catalog, responses: ApiResponses): MergedCatalog {
  const found = Map.groupBy(responses.machineTypes, ({ name }) => name);
  const additions = [...found.values()].flatMap(([type]) =>
    type !== undefined && shouldAdd(catalog, type) ? [newMachineType(catalog, type)] : [],
  );
  const added = additions.flatMap((entry) => (typeof entry === 'string' ? [] : [entry]));
  const machineTypes = insertBySeries(
    catalog.machineTypes.map((type) => withSize(type, found.get(type.name)?.[0])),
    added,
  );
  const zonesOf = (name: string) => [...new Set(found.get(name)?.map(({ zone }) => zone))].sort();
  const regrouped = regroup(machineTypes, zonesOf);
  return {
    catalog: { ...catalog, ...regrouped },
    changes: regrouped.machineTypes.flatMap((type) => listChanges(catalog, type, zonesOf(type.name))),
    reviewNotes: additions.filter((entry) => typeof entry === 'string'),
  };
}

function listChanges(catalog: Catalog, type: MachineType, zones: readonly string[]): readonly Change[] {
  const { name } = type;
  const before = catalog.machineTypes.find((candidate) => candidate.name === name);
  if (before === undefined) {
    return [{ name, change: `is new, in ${zones.length} zones` }];
  }
  const change = describeZones(catalog.availability[before.availability] ?? [], zones);
  const size = `${type.vcpus} vCPUs and ${type.memoryGib} GiB`;
  const isResized = before.vcpus !== type.vcpus || before.memoryGib !== type.memoryGib;
  return [...(isResized ? [{ name, change: `has ${size}` }] : []), ...(change === '' ? [] : [{ name, change }])];
}

/** A machine type without zones keeps its size. */
function withSize(type: MachineType, found: ApiMachineType | undefined): MachineType {
  return found === undefined ? type : { ...type, vcpus: found.vcpus, memoryGib: found.memoryGib };
}

/** Without GPUs, adds only known kinds of the series: `n1-ultramem-40` is another name of an M1 at M1's price. */
function shouldAdd(catalog: Catalog, { name, gpu, isSharedCpu, isDeprecated }: ApiMachineType): boolean {
  const series = catalog.machineTypes.filter((type) => seriesOf(type.name) === seriesOf(name));
  const hasKind = series.some((type) => kindOf(type.name) === kindOf(name));
  const isNew = PLAIN_NAME.test(name) && !catalog.machineTypes.some((type) => type.name === name);
  return isNew && !isSharedCpu && !isDeprecated && (hasKind || (gpu !== null && series.length > 0));
}

/** A new entry based on others of its kind; a review note if there are none, they differ, or the GPU is unknown. */
function newMachineType(catalog: Catalog, { name, vcpus, memoryGib, gpu }: ApiMachineType): MachineType | string {
  const siblings = catalog.machineTypes.filter(
    (type) => seriesOf(type.name) === seriesOf(name) && kindOf(type.name) === kindOf(name),
  );
  const [sibling] = siblings;
  const models = new Set(siblings.map(({ provisioningModels }) => provisioningModels.join()));
  if (sibling === undefined || models.size > 1) {
    return `${name} is new: add its provisioning models manually.`;
  }
  if (gpu !== null && !catalog.accelerators.some((accelerator) => accelerator.name === gpu.type)) {
    return `${name} is new, but its GPU ${gpu.type} is not in the catalog.`;
  }
  const { availability, provisioningModels } = sibling;
  const prices = { onDemandPerHourUsd: null, spotPerHourUsd: null, flexStartPerHourUsd: null };
  return { name, vcpus, memoryGib, gpu, availability, provisioningModels, ...prices };
}

/** Inserts new entries after the others of their series. */
function insertBySeries(types: readonly MachineType[], added: readonly MachineType[]): readonly MachineType[] {
  return types.flatMap((type, index) => {
    const series = seriesOf(type.name);
    const isLast = types.findLastIndex((candidate) => seriesOf(candidate.name) === series) === index;
    return isLast ? [type, ...added.filter((candidate) => seriesOf(candidate.name) === series)] : [type];
  });
}

/**
 * Splits groups of machine types that shared a list of zones and now differ. A new list is named after one of its
 * machine types; the list of most machine types keeps the name.
 */
function regroup(
  types: readonly MachineType[],
  zonesOf: (name: string) => string[],
): Pick<Catalog, 'machineTypes' | 'availability'> {
  const groups = Map.groupBy(types, (type) => type.availability);
  const usedNames = new Set(groups.keys());
  const groupByType = new Map<string, string>();
  for (const [group, members] of groups) {
    const sameZones = [...Map.groupBy(members, ({ name }) => zonesOf(name).join()).values()];
    for (const [index, list] of sameZones.sort((a, b) => b.length - a.length).entries()) {
      const free = list.find(({ name }) => !usedNames.has(name))?.name ?? `${group}-${usedNames.size}`;
      const own = index === 0 ? group : free;
      usedNames.add(own);
      for (const { name } of list) {
        groupByType.set(name, own);
      }
    }
  }
  const machineTypes = types.map((type) => ({
    ...type,
    availability: groupByType.get(type.name) ?? type.availability,
  }));
  const availability = Object.fromEntries(machineTypes.map((type) => [type.availability, zonesOf(type.name)]));
  return { machineTypes, availability };
}

function seriesOf(name: string): string {
  return name.split('-')[0] ?? name;
}

function kindOf(name: string): string | undefined {
  return PLAIN_NAME.exec(name)?.[2];
}
