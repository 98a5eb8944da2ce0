import { causeOf } from '#shared/domain/cause.ts';
import type { VmCreateFailure } from '#shared/domain/event.ts';
import { METADATA_BYTES_MAX, METADATA_VALUE_BYTES_MAX, type VmRequest } from '#shared/ports/vm-provider.ts';

/** The capacity of the embedded cloud, and its timing. */
export type VmProviderConfig = {
  readonly zones: readonly { readonly name: string; readonly vmsMax: number }[];
  /** Limit for all zones together. */
  readonly vmsMax: number;
  /** `python` is the path of an interpreter or its name on the PATH; its packages are those of the machine image. */
  readonly machineImages: readonly { readonly name: string; readonly python: string }[];
  /** Time from the preemption notice to the end of the VM. 30 s for Spot VMs on Compute Engine. */
  readonly preemptionNoticeMs: number;
  /** Time between SIGTERM and SIGKILL when a VM is deleted. 120 s on Compute Engine, 30 s for Spot VMs. */
  readonly stopGraceMs: number;
  /** Free bytes of this machine's disk below which the largest program is ended and no VM is created; 0 for no limit. */
  readonly diskReserveBytes: number;
  /** The service accounts that VMs may have besides the project's own. */
  readonly serviceAccounts: readonly string[];
};

export type Occupancy = {
  readonly config: VmProviderConfig;
  /** The zone of each VM that uses capacity. */
  readonly occupiedZones: readonly string[];
  readonly stockouts: readonly string[];
  readonly isDiskLow: boolean;
};

export type Admission = Occupancy & {
  readonly projectId: string;
  /** The interpreter of the requested machine image, if it was found. */
  readonly python: string | undefined;
};

const VM_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Why the VM cannot be created, because of its configuration or for lack of capacity; undefined if it can. */
export function findCreateFailure(request: VmRequest, admission: Admission): VmCreateFailure | undefined {
  const misconfiguration = findMisconfiguration(request, admission);
  if (misconfiguration !== undefined) {
    return { cause: causeOf('CONFIGURATION_REFUSED', misconfiguration), zonesAvailable: [] };
  }
  if (hasCapacity(request.zone, admission)) {
    return undefined;
  }
  const zonesAvailable = admission.config.zones.map(({ name }) => name).filter((zone) => hasCapacity(zone, admission));
  return { cause: stockoutOf(request, admission), zonesAvailable };
}

function findMisconfiguration(request: VmRequest, { config, python }: Admission): string | undefined {
  const { vmName, zone, machineImage, metadata, serviceAccount } = request;
  const image = config.machineImages.find(({ name }) => name === machineImage);
  if (!VM_NAME.test(vmName)) {
    return `Invalid value for field 'resource.name': '${vmName}'. It must match ${VM_NAME.source}.`;
  }
  if (!config.zones.some(({ name }) => name === zone)) {
    return `Zone ${zone} does not exist. This cloud has ${config.zones.map(({ name }) => name).join(', ')}.`;
  }
  if (image === undefined) {
    const names = config.machineImages.map(({ name }) => name).join(', ');
    return `Machine image ${machineImage} does not exist. This cloud has ${names}.`;
  }
  if (python === undefined) {
    return `Machine image ${machineImage} has no working interpreter at '${image.python}'. Install it or configure another one.`;
  }
  if (metadata['startup-script'] === undefined) {
    return `VM ${vmName} has no metadata attribute startup-script, so it would run nothing.`;
  }
  if (serviceAccount !== null && !config.serviceAccounts.includes(serviceAccount)) {
    return `The user does not have access to service account '${serviceAccount}'. Add it to jobAccounts in the configuration of dropforge up.`;
  }
  return findMetadataProblem(metadata);
}

/** Why the metadata is too large; undefined if it is within the limits. */
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

/** Whether the zone has capacity for one more VM. */
export function hasCapacity(zone: string, { config, occupiedZones, stockouts, isDiskLow }: Occupancy): boolean {
  const vmsMax = config.zones.find(({ name }) => name === zone)?.vmsMax ?? 0;
  const isFull = isDiskLow || occupiedZones.length >= config.vmsMax || stockouts.includes(zone);
  return !isFull && occupiedZones.filter((occupied) => occupied === zone).length < vmsMax;
}

const STOCKOUT_CODES = ['ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS'];

/**
 * If a limit of this machine is reached, the message names the setting that raises it. For an injected stockout, the
 * message is that of Compute Engine's operation error
 * (cloud.google.com/compute/docs/troubleshooting/troubleshooting-resource-availability).
 */
function stockoutOf({ zone, machineType, accelerator }: VmRequest, admission: Admission) {
  const { config, occupiedZones, projectId } = admission;
  const zoneVmsMax = config.zones.find(({ name }) => name === zone)?.vmsMax ?? 0;
  if (admission.isDiskLow) {
    const message =
      `Less than ${config.diskReserveBytes} bytes are free on the disk of this machine (diskReserveBytes in the ` +
      'configuration of dropforge up). Free some space: `dropforge status` shows what the buckets use.';
    return causeOf('STOCKOUT', message, STOCKOUT_CODES);
  }
  if (occupiedZones.length >= config.vmsMax) {
    const message =
      `This machine runs at most ${config.vmsMax} VMs at a time (vmsMax in the configuration of dropforge up). ` +
      'Wait for one to end, or raise vmsMax.';
    return causeOf('STOCKOUT', message, STOCKOUT_CODES);
  }
  if (occupiedZones.filter((occupied) => occupied === zone).length >= zoneVmsMax) {
    const message =
      `Zone ${zone} of this embedded cloud runs at most ${zoneVmsMax} VMs at a time (vmsMax of the zone in the ` +
      'configuration of dropforge up), and all of them are in use. Wait for one to end, or raise vmsMax.';
    return causeOf('STOCKOUT', message, STOCKOUT_CODES);
  }
  const attachment = accelerator === null ? '' : ` with ${accelerator.count} ${accelerator.type} accelerator(s)`;
  const message =
    `The zone 'projects/${projectId}/zones/${zone}' does not have enough resources available to fulfill the request, ` +
    `'(resource type:compute)'. A ${machineType} VM instance${attachment} is currently unavailable in the ${zone} zone.`;
  return causeOf('STOCKOUT', message, STOCKOUT_CODES);
}
