import { findMachineType, type Machine, readCatalog } from '#shared/catalog/catalog.ts';
import { isRegion, listRegions, regionsFor, zonesFor } from '#shared/catalog/zones.ts';
import { fieldPath, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';
import type { PlannedGroup } from '#shared/job-file/validation/check-machines.ts';
import { printGpus } from '#shared/job-file/validation/describe-machine-rejection.ts';
import { didYouMean } from '#shared/text/nearest-name.ts';

/** Remedies list at most this many regions. */
const REGIONS_SHOWN_MAX = 6;

export type RegionCheck = { readonly region: string; readonly zones: readonly string[] };

/**
 * The job's region and its zones that have all of the machines; null if there are none. Ignores TPUs, and machines that
 * are available by reservation only, because the catalog has no zones for them.
 */
export function checkRegion(
  draft: JobDraft,
  { machines, regionDefault }: { readonly machines: readonly PlannedGroup[] | null; readonly regionDefault: string },
  findings: Findings,
): RegionCheck | null {
  const region = draft.region ?? { value: regionDefault, path: fieldPath(draft.dialect, 'region') };
  if (!isRegion(region.value)) {
    const isZone = isRegion(region.value.replace(/-[a-z]$/, ''));
    const message = `${quote(region.value)} is ${isZone ? 'a zone, ' : ''}not a region.`;
    const remedy = `${didYouMean(region.value, listRegions())}Write one such as us-central1 or europe-west4.`;
    reportInvalid(region, { code: 'UNKNOWN_REGION', message, remedy }, findings);
    return null;
  }
  if (machines === null) {
    return null;
  }
  const required = distinct(machines.filter(isInCatalog).map(({ machine }) => machine));
  const zones = zonesFor(region.value, required);
  if (zones.length === 0) {
    rejectRegion(region, required, findings);
    return null;
  }
  return { region: region.value, zones };
}

function isInCatalog({ machine, pool, isTpu }: PlannedGroup): boolean {
  const type = findMachineType(machine.machineType);
  const hasZones = type !== undefined && (readCatalog().availability[type.availability] ?? []).length > 0;
  return !isTpu && (hasZones || pool.reservation?.type?.value !== 'SPECIFIC_RESERVATION');
}

function distinct(machines: readonly Machine[]): readonly Machine[] {
  return [...new Map(machines.map((machine) => [printMachine(machine), machine])).values()];
}

function rejectRegion(region: Located<string>, machines: readonly Machine[], findings: Findings): void {
  const missing = machines.filter((machine) => zonesFor(region.value, [machine]).length === 0);
  const apart = `The region ${region.value} has zones for each of the machines, but no zone with all of them`;
  const message =
    missing.length > 0
      ? `The region ${region.value} has no zone with ${missing.map(printMachine).join(', nor with ')}.`
      : `${apart}: ${machines.map(printMachine).join(', ')}.`;
  const remedy = suggestRegions(region.value, machines);
  findings.problems.push({ code: 'NO_ZONE', message, remedy, ...locationOf(region) });
}

/** Suggests regions that have all of the machines, those of the same continent first. */
function suggestRegions(region: string, machines: readonly Machine[]): string {
  const area = `${region.split('-')[0]}-`;
  const regions = [...regionsFor(machines)].sort((a, b) => Number(b.startsWith(area)) - Number(a.startsWith(area)));
  const [one, all] = machines.length === 1 ? ['another machine type', 'it'] : ['other machine types', 'all of them'];
  return regions.length === 0
    ? `No known zone has ${all}: choose ${one}.`
    : `Choose ${one}, or one of the regions ${regions.slice(0, REGIONS_SHOWN_MAX).join(', ')}.`;
}

function printMachine({ machineType, accelerator }: Machine): string {
  return accelerator === null ? machineType : `${machineType} with ${printGpus(accelerator)}`;
}
