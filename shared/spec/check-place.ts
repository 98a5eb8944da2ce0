import { findMachineType, type Machine } from '#shared/catalog/catalog.ts';
import { isRegion, listRegions, regionsFor, zonesFor } from '#shared/catalog/zones.ts';
import type { ProvisioningModel } from '#shared/domain/job-spec.ts';
import { type Findings, placeOf } from '#shared/spec/findings.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';
import { didYouMean } from '#shared/spec/nearest-name.ts';

/** So many regions are named as alternatives: the list is to be read. */
const REGIONS_SHOWN_MAX = 6;

/** Scheduling.strategy, which AI Platform never documented beyond its values. */
const STRATEGIES: Readonly<Record<string, ProvisioningModel>> = {
  STRATEGY_UNSPECIFIED: 'STANDARD',
  ON_DEMAND: 'STANDARD',
  LOW_COST: 'SPOT',
};

export type PlaceCheck = { readonly region: string; readonly zones: readonly string[] };

/** The job's region and the zones in it that have the machine; null where there are none, which is then among the findings. */
export function checkPlace(
  draft: JobDraft,
  { machine, regionDefault }: { machine: Machine | null; regionDefault: string },
  findings: Findings,
): PlaceCheck | null {
  const region = draft.region ?? { value: regionDefault, path: 'trainingInput.region' };
  if (!isRegion(region.value)) {
    const message = `There is no region "${region.value}".`;
    const remedy = `${didYouMean(region.value, listRegions())}Write one such as us-central1 or europe-west4.`;
    findings.problems.push({ code: 'UNKNOWN_REGION', message, remedy, ...placeOf(region) });
    return null;
  }
  if (machine === null) {
    return null;
  }
  const zones = zonesFor(region.value, [machine]);
  if (zones.length === 0) {
    const what =
      machine.accelerator === null ? machine.machineType : `${machine.machineType} with ${machine.accelerator.type}`;
    const message = `The region ${region.value} has no zone with ${what}.`;
    findings.problems.push({
      code: 'NO_ZONE',
      message,
      remedy: suggestRegions(region.value, machine),
      ...placeOf(region),
    });
    return null;
  }
  return { region: region.value, zones };
}

/** How the VM is to be asked for; null where the machine cannot be had so, which is then among the findings. */
export function checkProvisioning(
  { strategy, masterType }: JobDraft,
  machine: Machine | null,
  findings: Findings,
): ProvisioningModel | null {
  const model = strategy === undefined ? 'STANDARD' : STRATEGIES[strategy.value];
  if (model === undefined) {
    const message = `There is no scheduling strategy "${strategy?.value}".`;
    const remedy = `${didYouMean(strategy?.value ?? '', Object.keys(STRATEGIES))}Write ON_DEMAND, or LOW_COST for Spot VMs.`;
    findings.problems.push({ code: 'UNKNOWN_STRATEGY', message, remedy, ...(strategy && placeOf(strategy)) });
    return null;
  }
  const models = machine === null ? undefined : findMachineType(machine.machineType)?.provisioningModels;
  if (machine === null || models?.includes(model) !== false) {
    return model;
  }
  const [other] = models;
  const message = `${machine.machineType} cannot be had ${model === 'SPOT' ? 'as a Spot VM' : 'on demand'}.`;
  const remedy =
    other === undefined
      ? 'It needs a reservation, which is not supported: choose another machine type.'
      : `Write scheduling.strategy: ${other === 'SPOT' ? 'LOW_COST' : 'ON_DEMAND'}, or choose another machine type.`;
  findings.problems.push({ code: 'WRONG_PROVISIONING_MODEL', message, remedy, ...(masterType && placeOf(masterType)) });
  return null;
}

/** Regions that have the machine, those of the same part of the world first. */
function suggestRegions(region: string, machine: Machine): string {
  const area = region.split('-')[0] ?? '';
  const regions = [...regionsFor([machine])].sort((a, b) => Number(b.startsWith(area)) - Number(a.startsWith(area)));
  return regions.length === 0
    ? 'The catalog knows no zone that has it: choose another machine type.'
    : `Choose another machine type, or one of ${regions.slice(0, REGIONS_SHOWN_MAX).join(', ')}.`;
}
