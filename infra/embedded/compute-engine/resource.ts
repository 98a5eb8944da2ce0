import { createHash } from 'node:crypto';
import type { OperationRecord } from '#infra/embedded/compute-engine/operation-store.ts';
import { NO_JOB, type VmRecord } from '#infra/embedded/compute-engine/vms/table.ts';
import { hostMaintenanceOf } from '#shared/catalog/host-maintenance.ts';
import type { VmStatus } from '#shared/ports/vm-provider.ts';
import { toLabels } from '#shared/protocol/vm-labels.ts';

/**
 * The project as the client sees it; `base` is the URL prefix of its resources, `http://HOST/compute/v1/projects/P`.
 */
export type ProjectContext = { readonly base: string; readonly serviceAccountEmail: string };

/** The domain's status as Compute Engine's (API, Instance.status). */
const STATUSES: Readonly<Record<VmStatus, string>> = {
  PENDING: 'PENDING',
  STARTING: 'PROVISIONING',
  RUNNING: 'RUNNING',
  STOPPING: 'STOPPING',
  TERMINATED: 'TERMINATED',
};

const SCOPES = ['https://www.googleapis.com/auth/cloud-platform'];

/** A VM as an instance resource of the Compute API. Its network address and disk are those of this machine. */
export function toInstanceResource(record: VmRecord, { base, serviceAccountEmail }: ProjectContext) {
  const { request, instanceId, createdAt, status } = record;
  const { vmName, zone, machineType, accelerator } = request;
  const zoneUrl = `${base}/zones/${zone}`;
  return {
    kind: 'compute#instance',
    id: instanceId,
    creationTimestamp: timestampOf(createdAt),
    name: vmName,
    machineType: `${zoneUrl}/machineTypes/${machineType}`,
    status: STATUSES[status],
    zone: zoneUrl,
    canIpForward: false,
    networkInterfaces: networkInterfacesOf(record, base),
    disks: [bootDiskOf(record, zoneUrl)],
    metadata: metadataOf(record),
    serviceAccounts: [{ email: request.serviceAccount ?? serviceAccountEmail, scopes: SCOPES }],
    selfLink: `${zoneUrl}/instances/${vmName}`,
    scheduling: schedulingOf(record),
    cpuPlatform: 'Unknown CPU Platform',
    labels: labelsOf(record),
    startRestricted: false,
    deletionProtection: false,
    lastStartTimestamp: timestampOf(createdAt),
    sourceMachineImage: `${base}/global/machineImages/${request.machineImage}`,
    ...(accelerator !== null && {
      guestAccelerators: [
        { acceleratorType: `${zoneUrl}/acceleratorTypes/${accelerator.type}`, acceleratorCount: accelerator.count },
      ],
    }),
  };
}

/** Their addresses are this machine's, whatever network they are in. */
function networkInterfacesOf({ request }: VmRecord, base: string) {
  const common = { kind: 'compute#networkInterface', networkIP: '127.0.0.1', stackType: 'IPV4_ONLY' };
  const { subnetwork, networkAttachment } = request;
  const first = {
    ...common,
    name: 'nic0',
    network: `${base}/global/networks/default`,
    ...(subnetwork && { subnetwork }),
  };
  return networkAttachment === null ? [first] : [first, { ...common, name: 'nic1', networkAttachment }];
}

function metadataOf({ request }: VmRecord) {
  const items = Object.entries(request.metadata).map(([key, value]) => ({ key, value }));
  return { kind: 'compute#metadata', items };
}

function labelsOf({ request }: VmRecord): Readonly<Record<string, string>> {
  return request.jobId === NO_JOB ? request.labels : toLabels(request, request.labels);
}

function bootDiskOf({ request }: VmRecord, zoneUrl: string) {
  return {
    kind: 'compute#attachedDisk',
    type: 'PERSISTENT',
    mode: 'READ_WRITE',
    deviceName: 'persistent-disk-0',
    index: 0,
    boot: true,
    autoDelete: true,
    interface: 'SCSI',
    diskSizeGb: String(request.bootDiskGib),
    source: `${zoneUrl}/disks/${request.vmName}`,
    ...(request.kmsKeyName !== null && { diskEncryptionKey: { kmsKeyName: request.kmsKeyName } }),
  };
}

function schedulingOf({ request }: VmRecord) {
  const { provisioningModel, maxRunSeconds } = request;
  return {
    provisioningModel,
    preemptible: provisioningModel === 'SPOT',
    onHostMaintenance: hostMaintenanceOf(request, provisioningModel),
    automaticRestart: false,
    instanceTerminationAction: 'DELETE',
    maxRunDuration: { seconds: String(maxRunSeconds) },
  };
}

/** An operation resource of the Compute API; a failed one has `error` and the HTTP error fields. */
export function toOperationResource(operation: OperationRecord, { base, serviceAccountEmail }: ProjectContext) {
  const { name, zone, type, vmName, targetId, insertedAt, endedAt, failure } = operation;
  const zoneUrl = `${base}/zones/${zone}`;
  const isDone = endedAt !== null;
  return {
    kind: 'compute#operation',
    id: idOf(name),
    name,
    zone: zoneUrl,
    operationType: type,
    targetLink: `${zoneUrl}/instances/${vmName}`,
    // Compute Engine sets targetId in its first response; here it is known once the VM exists.
    ...(targetId !== null && { targetId }),
    status: isDone ? 'DONE' : 'RUNNING',
    user: serviceAccountEmail,
    progress: isDone ? 100 : 0,
    insertTime: timestampOf(insertedAt),
    startTime: timestampOf(insertedAt),
    ...(isDone && { endTime: timestampOf(endedAt) }),
    ...(failure !== null && {
      error: { errors: failure.errors },
      httpErrorStatusCode: failure.httpStatus,
      httpErrorMessage: failure.httpMessage,
    }),
    selfLink: `${zoneUrl}/operations/${name}`,
  };
}

/** A resource id of nineteen digits, derived from a name. */
function idOf(name: string): string {
  return String(10n ** 18n + (createHash('sha256').update(name).digest().readBigUInt64BE() % (8n * 10n ** 18n)));
}

function timestampOf(ms: number): string {
  return new Date(ms).toISOString();
}
