import type { InstancesClient, protos } from '@google-cloud/compute';
import { z } from 'zod';
import { faultOfRequest } from '#infra/google-cloud/compute-engine/compute-fault.ts';
import type { Vm, VmStatus } from '#shared/ports/vm-provider.ts';
import { readLabels } from '#shared/protocol/vm-labels.ts';

const NOT_FOUND = 404;

/** Compute Engine's states (API, Instance.status) in the domain's words. */
const STATUSES: Readonly<Record<string, VmStatus>> = {
  PENDING: 'PENDING',
  PROVISIONING: 'STARTING',
  STAGING: 'STARTING',
  RUNNING: 'RUNNING',
  REPAIRING: 'RUNNING',
  PENDING_STOP: 'STOPPING',
  STOPPING: 'STOPPING',
  SUSPENDING: 'STOPPING',
  DEPROVISIONING: 'STOPPING',
  SUSPENDED: 'TERMINATED',
  STOPPED: 'TERMINATED',
  TERMINATED: 'TERMINATED',
};

const instanceSchema = z.object({
  name: z.string(),
  id: z.coerce.string(),
  /** An address that ends in the zone's name. */
  zone: z.string(),
  status: z.string(),
  labels: z.record(z.string(), z.string()).nullish(),
});

/** What Compute Engine has under a name: one of Dropforge's VMs, with job and attempt from its labels, or somebody's. */
export type NamedVm = Omit<Vm, 'jobId' | 'attempt'> & {
  readonly owner: { readonly jobId: string; readonly attempt: number } | null;
};

export function readInstance(instance: protos.google.cloud.compute.v1.IInstance): NamedVm {
  const { name, id, zone, status, labels } = instanceSchema.parse(instance);
  return {
    vmName: name,
    zone: zone.split('/').at(-1) ?? zone,
    instanceId: id,
    status: STATUSES[status] ?? 'STARTING',
    owner: readLabels(labels ?? {}) ?? null,
  };
}

/** The VM as the port speaks of it; undefined for one that is not Dropforge's. */
export function toVm({ owner, ...vm }: NamedVm): Vm | undefined {
  return owner === null ? undefined : { ...vm, ...owner };
}

/** Who has this name in this zone; undefined where nobody has. */
export async function findInstance(
  { instances, projectId }: { readonly instances: InstancesClient; readonly projectId: string },
  { vmName, zone }: { readonly vmName: string; readonly zone: string },
): Promise<NamedVm | undefined> {
  try {
    const [instance] = await instances.get({ project: projectId, zone, instance: vmName });
    return readInstance(instance);
  } catch (error) {
    if (faultOfRequest(error)?.httpStatus === NOT_FOUND) {
      return undefined;
    }
    throw error;
  }
}
