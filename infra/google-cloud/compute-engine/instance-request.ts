import { createHash } from 'node:crypto';
import type { protos } from '@google-cloud/compute';
import * as z from 'zod';
import type { BootSource } from '#infra/google-cloud/compute-engine/boot-source.ts';
import { hostMaintenanceOf } from '#shared/catalog/host-maintenance.ts';
import { regionOf } from '#shared/domain/job.ts';
import type { Reservation } from '#shared/domain/job-spec.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { toLabels } from '#shared/protocol/vm-labels.ts';

export type InsertRequest = protos.google.cloud.compute.v1.IInsertInstanceRequest;
type InstanceResource = protos.google.cloud.compute.v1.IInstance;

/** Settings that all VMs of a deployment share. */
export const vmDefaultsSchema = z.object({
  projectId: z.string().min(1),
  /** `projects/P/regions/{region}/subnetworks/S`; `{region}` is replaced with the VM's region. */
  subnetwork: z.string().min(1),
  serviceAccount: z.email(),
  /** The target tag of firewall rules. */
  networkTag: z.string().min(1).default('dropforge-vm'),
  /**
   * Whether the VM rejects unsigned drivers. NVIDIA's are unsigned unless the image has signed ones (docs, "Secure Boot
   * and GPU VMs").
   */
  hasSecureBoot: z.boolean().default(false),
  /** Whether users log in by OS Login, with their own accounts. */
  hasShellAccess: z.boolean().default(false),
  /** The Cloud KMS key of boot disks that are created from images; null for a Google-managed key. */
  diskKmsKey: z.string().min(1).nullable().default(null),
});

export type VmDefaults = z.infer<typeof vmDefaultsSchema>;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** The longest notice before a Spot VM is preempted (Compute API, `scheduling.preemptionNoticeDuration`). */
export const PREEMPTION_NOTICE_SECONDS = 120;

const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

/**
 * The request for one VM. It is deterministic: a second request for the same VM has the same request id, for which
 * Compute Engine returns the first operation (API docs, "requestId").
 */
export function toInsertRequest(request: VmRequest, defaults: VmDefaults, source: BootSource): InsertRequest {
  const { zone } = request;
  return {
    project: defaults.projectId,
    zone,
    requestId: requestIdOf(`insert ${zone} ${request.vmName} ${Object.values(source).join()}`),
    ...('machineImage' in source && {
      sourceMachineImage: globalName(source.machineImage, 'machineImages', defaults.projectId),
    }),
    instanceResource: toInstance(request, defaults, source),
  };
}

function metadataOf({ metadata }: VmRequest, { hasShellAccess }: VmDefaults): VmRequest['metadata'] {
  return hasShellAccess ? { ...metadata, 'enable-oslogin': 'TRUE' } : metadata;
}

function toInstance(request: VmRequest, defaults: VmDefaults, source: BootSource): InstanceResource {
  const { vmName, zone, machineType, accelerator } = request;
  return {
    name: vmName,
    machineType: `zones/${zone}/machineTypes/${machineType}`,
    labels: toLabels(request, request.labels),
    tags: { items: [defaults.networkTag] },
    metadata: { items: Object.entries(metadataOf(request, defaults)).map(([key, value]) => ({ key, value })) },
    ...(accelerator !== null && {
      guestAccelerators: [
        { acceleratorType: `zones/${zone}/acceleratorTypes/${accelerator.type}`, acceleratorCount: accelerator.count },
      ],
    }),
    ...('image' in source && { disks: [toBootDisk(request, defaults, source.image)] }),
    networkInterfaces: toNetworkInterfaces(request, defaults),
    serviceAccounts: [{ email: request.serviceAccount ?? defaults.serviceAccount, scopes: [SCOPE] }],
    shieldedInstanceConfig: {
      enableSecureBoot: defaults.hasSecureBoot,
      enableVtpm: true,
      enableIntegrityMonitoring: true,
    },
    ...toScheduling(request),
    reservationAffinity: toReservationAffinity(request, defaults),
  };
}

/**
 * No access configuration: the VM has no external IP address. A Private Service Connect interface is never the first,
 * and has no subnetwork of its own: its address is from that of the network attachment (VPC docs, "Create and manage
 * Private Service Connect interfaces").
 */
function toNetworkInterfaces({ zone, subnetwork, networkAttachment }: VmRequest, defaults: VmDefaults) {
  const first = { subnetwork: subnetwork ?? defaults.subnetwork.replace('{region}', regionOf(zone)) };
  return networkAttachment === null ? [first] : [first, { networkAttachment }];
}

function toBootDisk(request: VmRequest, defaults: VmDefaults, image: string) {
  const { zone, bootDiskGib, bootDiskType } = request;
  // Used by the Compute Engine Service Agent, the default of kmsKeyServiceAccount.
  const kmsKeyName = request.kmsKeyName ?? defaults.diskKmsKey;
  return {
    boot: true,
    autoDelete: true,
    initializeParams: {
      sourceImage: globalName(image, 'images', defaults.projectId),
      diskSizeGb: String(bootDiskGib),
      diskType: `zones/${zone}/diskTypes/${bootDiskType}`,
    },
    ...(kmsKeyName !== null && { diskEncryptionKey: { kmsKeyName } }),
  };
}

/** The VM is deleted however it ends, at `maxRunDuration` at the latest. Compute Engine never restarts it. */
function toScheduling(request: VmRequest) {
  const { provisioningModel, maxRunSeconds, capacityWaitSeconds } = request;
  const scheduling = {
    provisioningModel,
    instanceTerminationAction: 'DELETE',
    maxRunDuration: { seconds: String(maxRunSeconds) },
    onHostMaintenance: hostMaintenanceOf(request, provisioningModel),
    automaticRestart: false,
  };
  switch (provisioningModel) {
    case 'STANDARD':
      return { scheduling };
    case 'SPOT':
      return {
        scheduling: { ...scheduling, preemptionNoticeDuration: { seconds: String(PREEMPTION_NOTICE_SECONDS) } },
      };
    case 'FLEX_START':
      return { scheduling, params: { requestValidForDuration: { seconds: String(capacityWaitSeconds ?? 0) } } };
  }
}

/** Spot and flex-start VMs cannot consume ordinary reservations. */
function toReservationAffinity({ reservation, provisioningModel }: VmRequest, defaults: VmDefaults) {
  if (provisioningModel !== 'STANDARD' || reservation?.kind === 'NONE') {
    return { consumeReservationType: 'NO_RESERVATION' };
  }
  return reservation?.kind === 'SPECIFIC'
    ? toSpecificReservation(reservation, defaults)
    : { consumeReservationType: 'ANY_RESERVATION' };
}

/**
 * Reservations of this project are named without it, those of another project with it, and all without the zone, which
 * is the VM's (docs, "Consume a specific reservation").
 */
function toSpecificReservation({ names }: Extract<Reservation, { kind: 'SPECIFIC' }>, { projectId }: VmDefaults) {
  const values = names.map((name) => {
    const [, owner, own = name] = /^projects\/([^/]+)\/(?:zones\/[^/]+\/)?reservations\/(.+)$/.exec(name) ?? [];
    return owner === undefined || owner === projectId ? own : `projects/${owner}/reservations/${own}`;
  });
  return { consumeReservationType: 'SPECIFIC_RESERVATION', key: RESERVATION_KEY, values };
}

function globalName(name: string, collection: string, projectId: string): string {
  return name.includes('/') ? name : `projects/${projectId}/global/${collection}/${name}`;
}

/** A UUID that is derived from the text (RFC 9562, version 8: custom). */
export function requestIdOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
