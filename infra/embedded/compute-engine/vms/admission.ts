import { causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';

/** What the embedded cloud has, and how it behaves. */
export type VmProviderConfig = {
  readonly zones: readonly { readonly name: string; readonly vmsMax: number }[];
  /** In all zones together. */
  readonly vmsMax: number;
  /** `python` is the path of an interpreter, or its name on the PATH; its packages are the machine image's. */
  readonly machineImages: readonly { readonly name: string; readonly python: string }[];
  /** Between the notice of a preemption and its end. Compute Engine gives Spot VMs 30 s. */
  readonly preemptionNoticeMs: number;
  /** Between SIGTERM and SIGKILL when a VM is deleted. Compute Engine gives 120 s, and Spot VMs 30 s. */
  readonly stopGraceMs: number;
};

export const VM_PROVIDER_DEFAULTS = { vmsMax: 8, preemptionNoticeMs: 30_000, stopGraceMs: 10_000 } as const;

export type Occupancy = {
  readonly config: VmProviderConfig;
  /** The zones of the VMs that take up room. */
  readonly occupiedZones: readonly string[];
  readonly stockouts: readonly string[];
};

export type Admission = Occupancy & {
  readonly projectId: string;
  /** The interpreter of the asked machine image, when it was found. */
  readonly python: string | undefined;
};

/** Compute Engine's limits on metadata: 256 KiB a value, 512 KiB in all (cloud.google.com/compute/docs/metadata/setting-custom-metadata). */
const METADATA_VALUE_BYTES_MAX = 262_144;
const METADATA_BYTES_MAX = 524_288;
const VM_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Why a VM cannot be had: as it was asked for, or now; undefined when nothing is against it. */
export function refusalOf(request: VmRequest, admission: Admission): VmCreateFailure | undefined {
  const misconfiguration = findMisconfiguration(request, admission);
  if (misconfiguration !== undefined) {
    return { cause: causeOf('CONFIGURATION_REFUSED', misconfiguration), zonesAvailable: [] };
  }
  if (hasRoom(request.zone, admission)) {
    return undefined;
  }
  const zonesAvailable = admission.config.zones.map(({ name }) => name).filter((zone) => hasRoom(zone, admission));
  return { cause: stockoutOf(request, admission), zonesAvailable };
}

function findMisconfiguration(request: VmRequest, { config, python }: Admission): string | undefined {
  const { vmName, zone, machineImage, metadata } = request;
  const image = config.machineImages.find(({ name }) => name === machineImage);
  if (!VM_NAME.test(vmName)) {
    return `Invalid value for field 'resource.name': '${vmName}'. It must match ${VM_NAME.source}.`;
  }
  if (!config.zones.some(({ name }) => name === zone)) {
    return `There is no zone ${zone}. This cloud has ${config.zones.map(({ name }) => name).join(', ')}.`;
  }
  if (image === undefined) {
    const names = config.machineImages.map(({ name }) => name).join(', ');
    return `There is no machine image ${machineImage}. This cloud has ${names}.`;
  }
  if (python === undefined) {
    return `Machine image ${machineImage} has no working interpreter at '${image.python}'. Install it or name another one.`;
  }
  if (metadata['startup-script'] === undefined) {
    return `VM ${vmName} has no metadata attribute startup-script, so it would run nothing.`;
  }
  return findMetadataProblem(metadata);
}

/** Why metadata is too large; undefined when it is not. */
export function findMetadataProblem(metadata: VmRequest['metadata']): string | undefined {
  const sizes = Object.entries(metadata).map(([key, value]) => ({ key, bytes: Buffer.byteLength(value) }));
  const largest = sizes.find(({ bytes }) => bytes > METADATA_VALUE_BYTES_MAX);
  if (largest !== undefined) {
    return `Metadata attribute ${largest.key} has ${largest.bytes} bytes; at most ${METADATA_VALUE_BYTES_MAX} are allowed.`;
  }
  const total = sizes.reduce((sum, { key, bytes }) => sum + Buffer.byteLength(key) + bytes, 0);
  return total < METADATA_BYTES_MAX
    ? undefined
    : `The metadata has ${total} bytes; all keys and values together must have less than ${METADATA_BYTES_MAX}.`;
}

/** Whether one VM more can run in this zone. */
export function hasRoom(zone: string, { config, occupiedZones, stockouts }: Occupancy): boolean {
  const vmsMax = config.zones.find(({ name }) => name === zone)?.vmsMax ?? 0;
  const isFull = occupiedZones.length >= config.vmsMax || stockouts.includes(zone);
  return !isFull && occupiedZones.filter((occupied) => occupied === zone).length < vmsMax;
}

const STOCKOUT_CODES = ['ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'];

/**
 * The room of this machine has an end that its user can move, and is told so. Where a zone is only said to be sold out,
 * it is in the words of Compute Engine's operation error
 * (cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-availability).
 */
function stockoutOf({ zone, machineType, accelerator }: VmRequest, admission: Admission) {
  const { config, occupiedZones, projectId } = admission;
  const zoneVmsMax = config.zones.find(({ name }) => name === zone)?.vmsMax ?? 0;
  if (occupiedZones.length >= config.vmsMax) {
    const message =
      `This machine runs ${config.vmsMax} VMs at a time (vmsMax in the configuration of dropforge up), and all of them ` +
      'are taken. Wait for one to end, or raise vmsMax.';
    return causeOf('STOCKOUT', message, STOCKOUT_CODES);
  }
  if (occupiedZones.filter((occupied) => occupied === zone).length >= zoneVmsMax) {
    const message =
      `Zone ${zone} of this embedded cloud runs ${zoneVmsMax} VMs at a time (vmsMax of the zone in the configuration of ` +
      'dropforge up), and all of them are taken. Wait for one to end, or raise it.';
    return causeOf('STOCKOUT', message, STOCKOUT_CODES);
  }
  const attachment = accelerator === null ? '' : ` with ${accelerator.count} ${accelerator.type} accelerator(s)`;
  const message =
    `The zone 'projects/${projectId}/zones/${zone}' does not have enough resources available to fulfill the request, ` +
    `'(resource type:compute)'. A ${machineType} VM instance${attachment} is currently unavailable in the ${zone} zone.`;
  return causeOf('STOCKOUT', message, STOCKOUT_CODES);
}
