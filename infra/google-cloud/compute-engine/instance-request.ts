import { createHash } from 'node:crypto';
import type { protos } from '@google-cloud/compute';
import { z } from 'zod';
import type { BootSource } from '#infra/google-cloud/compute-engine/boot-source.ts';
import type { Reservation } from '#shared/domain/job-spec.ts';
import type { VmRequest } from '#shared/ports/vm-provider.ts';
import { toLabels } from '#shared/protocol/vm-labels.ts';

export type InsertRequest = protos.google.cloud.compute.v1.IInsertInstanceRequest;
type InstanceResource = protos.google.cloud.compute.v1.IInstance;

/** What all VMs of a deployment have in common. */
export const vmPlaceSchema = z.object({
  projectId: z.string().min(1),
  /** `projects/P/regions/{region}/subnetworks/S`, where `{region}` stands for the VM's own. */
  subnetwork: z.string().min(1),
  serviceAccount: z.email(),
  /** The firewall's handle on the VMs. */
  networkTag: z.string().min(1).default('dropforge-vm'),
  /**
   * Whether only signed drivers are loaded. NVIDIA's are not unless the image has signed ones (docs, "Secure Boot and
   * GPU VMs").
   */
  hasSecureBoot: z.boolean().default(false),
  /** The key of boot disks that are made from images; null for Google's own. */
  diskKmsKey: z.string().min(1).nullable().default(null),
});

export type VmPlace = z.infer<typeof vmPlaceSchema>;

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Compute Engine's longest notice before a Spot VM is taken away (`scheduling.preemptionNoticeDuration`). */
export const PREEMPTION_NOTICE_SECONDS = 120;

const RESERVATION_KEY = 'compute.googleapis.com/reservation-name';

/**
 * The request for one VM, nothing of it left to chance: the same VM asked for twice has the same request id, and
 * Compute Engine answers with the first operation (API docs, "requestId").
 */
export function toInsertRequest(request: VmRequest, place: VmPlace, source: BootSource): InsertRequest {
  const { zone } = request;
  return {
    project: place.projectId,
    zone,
    requestId: requestIdOf(`insert ${zone} ${request.vmName} ${Object.values(source).join()}`),
    ...('machineImage' in source && {
      sourceMachineImage: globalName(source.machineImage, 'machineImages', place.projectId),
    }),
    instanceResource: toInstance(request, place, source),
  };
}

function toInstance(request: VmRequest, place: VmPlace, source: BootSource): InstanceResource {
  const { vmName, zone, machineType, accelerator } = request;
  return {
    name: vmName,
    machineType: `zones/${zone}/machineTypes/${machineType}`,
    labels: toLabels(request, request.labels),
    tags: { items: [place.networkTag] },
    metadata: { items: Object.entries(request.metadata).map(([key, value]) => ({ key, value })) },
    ...(accelerator !== null && {
      guestAccelerators: [
        { acceleratorType: `zones/${zone}/acceleratorTypes/${accelerator.type}`, acceleratorCount: accelerator.count },
      ],
    }),
    ...('image' in source && { disks: [toBootDisk(request, place, source.image)] }),
    // Without access configuration there is no public address.
    networkInterfaces: [{ subnetwork: place.subnetwork.replace('{region}', regionOf(zone)) }],
    serviceAccounts: [{ email: place.serviceAccount, scopes: [SCOPE] }],
    shieldedInstanceConfig: {
      enableSecureBoot: place.hasSecureBoot,
      enableVtpm: true,
      enableIntegrityMonitoring: true,
    },
    ...toScheduling(request),
    reservationAffinity: toReservationAffinity(request, place),
  };
}

function toBootDisk({ zone, bootDiskGib, bootDiskType }: VmRequest, place: VmPlace, image: string) {
  return {
    boot: true,
    autoDelete: true,
    initializeParams: {
      sourceImage: globalName(image, 'images', place.projectId),
      diskSizeGb: String(bootDiskGib),
      diskType: `zones/${zone}/diskTypes/${bootDiskType}`,
    },
    ...(place.diskKmsKey !== null && { diskEncryptionKey: { kmsKeyName: place.diskKmsKey } }),
  };
}

/** However the VM ends, it is deleted, at `maxRunDuration` at the latest; none is moved or restarted behind the job's back. */
function toScheduling({ provisioningModel, maxRunSeconds, capacityWaitSeconds }: VmRequest) {
  const scheduling = {
    provisioningModel,
    instanceTerminationAction: 'DELETE',
    maxRunDuration: { seconds: String(maxRunSeconds) },
    onHostMaintenance: 'TERMINATE',
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

/** Spot and flex-start VMs cannot take from ordinary reservations. */
function toReservationAffinity({ reservation, provisioningModel }: VmRequest, place: VmPlace) {
  if (provisioningModel !== 'STANDARD' || reservation?.kind === 'NONE') {
    return { consumeReservationType: 'NO_RESERVATION' };
  }
  return reservation?.kind === 'SPECIFIC'
    ? toSpecificReservation(reservation, place)
    : { consumeReservationType: 'ANY_RESERVATION' };
}

/**
 * The project's own go by their names, another project's with that project, and all without the zone, which is the VM's
 * (docs, "Consume a specific reservation").
 */
function toSpecificReservation({ names }: Extract<Reservation, { kind: 'SPECIFIC' }>, { projectId }: VmPlace) {
  const values = names.map((name) => {
    const [, owner, own = name] = /^projects\/([^/]+)\/(?:zones\/[^/]+\/)?reservations\/(.+)$/.exec(name) ?? [];
    return owner === undefined || owner === projectId ? own : `projects/${owner}/reservations/${own}`;
  });
  return { consumeReservationType: 'SPECIFIC_RESERVATION', key: RESERVATION_KEY, values };
}

function globalName(name: string, collection: string, projectId: string): string {
  return name.includes('/') ? name : `projects/${projectId}/global/${collection}/${name}`;
}

function regionOf(zone: string): string {
  return zone.replace(/-[a-z]$/, '');
}

/** A UUID that follows from the text (RFC 9562, version 8: of one's own making). */
export function requestIdOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
