import type { ApiAnswers, ApiMachineType } from '#infra/tools/refresh-catalog/api-answers.ts';
import { type Change, describeZones, type MergedCatalog } from '#infra/tools/refresh-catalog/catalog-changes.ts';
import type { Catalog, MachineType } from '#shared/catalog/catalog.ts';

/** `n4-standard-8`; others are variants with local SSD, on bare metal and the like, of which the catalog has few. */
const PLAIN_NAME = /^([a-z]\d+[a-z]?)-([a-z]+)-\d+g?$/;

/** Takes over sizes and zones of the machine types, and those that are new in a series that the catalog has. */
export function mergeMachineTypes(catalog: Catalog, answers: ApiAnswers): MergedCatalog {
  const found = Map.groupBy(answers.machineTypes, ({ name }) => name);
  const news = [...found.values()].flatMap(([type]) =>
    type !== undefined && isWanted(catalog, type) ? [newMachineType(catalog, type)] : [],
  );
  const added = news.flatMap((entry) => (typeof entry === 'string' ? [] : [entry]));
  const machineTypes = insertBySeries(
    catalog.machineTypes.map((type) => withSize(type, found.get(type.name)?.[0])),
    added,
  );
  const zonesOf = (name: string) => [...new Set(found.get(name)?.map(({ zone }) => zone))].sort();
  const regrouped = regroup(machineTypes, zonesOf);
  return {
    catalog: { ...catalog, ...regrouped },
    changes: regrouped.machineTypes.flatMap((type) => listChanges(catalog, type, zonesOf(type.name))),
    doubts: news.filter((entry) => typeof entry === 'string'),
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

/** A machine type that no zone has any more keeps its size. */
function withSize(type: MachineType, found: ApiMachineType | undefined): MachineType {
  return found === undefined ? type : { ...type, vcpus: found.vcpus, memoryGib: found.memoryGib };
}

/** Without GPUs only kinds that the series has: `n1-ultramem-40` is another name of an M1, at M1's price. */
function isWanted(catalog: Catalog, { name, gpu, isSharedCpu, isDeprecated }: ApiMachineType): boolean {
  const series = catalog.machineTypes.filter((type) => seriesOf(type.name) === seriesOf(name));
  const hasKind = series.some((type) => kindOf(type.name) === kindOf(name));
  const isNew = PLAIN_NAME.test(name) && !catalog.machineTypes.some((type) => type.name === name);
  return isNew && !isSharedCpu && !isDeprecated && (hasKind || (gpu !== null && series.length > 0));
}

/** As others of its kind are; in words why not where there are none, they do not agree, or the GPU is not known. */
function newMachineType(catalog: Catalog, { name, vcpus, memoryGib, gpu }: ApiMachineType): MachineType | string {
  const siblings = catalog.machineTypes.filter(
    (type) => seriesOf(type.name) === seriesOf(name) && kindOf(type.name) === kindOf(name),
  );
  const [sibling] = siblings;
  const models = new Set(siblings.map(({ provisioningModels }) => provisioningModels.join()));
  if (sibling === undefined || models.size > 1) {
    return `${name} is new: how it can be provisioned is to be written by hand.`;
  }
  if (gpu !== null && !catalog.accelerators.some((accelerator) => accelerator.name === gpu.type)) {
    return `${name} is new, but its GPU ${gpu.type} is not in the catalog.`;
  }
  const { availability, provisioningModels } = sibling;
  const prices = { onDemandPerHourUsd: null, spotPerHourUsd: null, flexStartPerHourUsd: null };
  return { name, vcpus, memoryGib, gpu, availability, provisioningModels, ...prices };
}

/** New ones stand behind the others of their series. */
function insertBySeries(types: readonly MachineType[], added: readonly MachineType[]): readonly MachineType[] {
  return types.flatMap((type, index) => {
    const series = seriesOf(type.name);
    const isLast = types.findLastIndex((candidate) => seriesOf(candidate.name) === series) === index;
    return isLast ? [type, ...added.filter((candidate) => seriesOf(candidate.name) === series)] : [type];
  });
}

/**
 * Machine types that shared a list of zones and no longer agree are given lists of their own, named after one that has
 * it; the list that most of them have keeps the name.
 */
function regroup(
  types: readonly MachineType[],
  zonesOf: (name: string) => string[],
): Pick<Catalog, 'machineTypes' | 'availability'> {
  const groups = Map.groupBy(types, (type) => type.availability);
  const taken = new Set(groups.keys());
  const groupByType = new Map<string, string>();
  for (const [group, members] of groups) {
    const alike = [...Map.groupBy(members, ({ name }) => zonesOf(name).join()).values()];
    for (const [index, list] of alike.sort((a, b) => b.length - a.length).entries()) {
      const free = list.find(({ name }) => !taken.has(name))?.name ?? `${group}-${taken.size}`;
      const own = index === 0 ? group : free;
      taken.add(own);
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
