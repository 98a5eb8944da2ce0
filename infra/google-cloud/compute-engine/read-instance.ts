import type { InstancesClient } from '@google-cloud/compute';
import * as z from 'zod';
import { parseRequestFault } from '#infra/google-cloud/compute-engine/compute-fault.ts';
import type { Vm, VmStatus } from '#shared/ports/vm-provider.ts';
import { readLabels } from '#shared/protocol/vm-labels.ts';

const NOT_FOUND = 404;

/** Compute Engine's statuses (API, Instance.status) in the domain's terms. */
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
  /** A URL that ends in the zone's name. */
  zone: z.string(),
  status: z.string(),
  labels: z.record(z.string(), z.string()).nullish(),
});

/** The VM with a certain name. Its owner is read from its labels; null if the VM is not Dropforge's. */
export type NamedVm = Omit<Vm, 'jobId' | 'attempt'> & {
  readonly owner: { readonly jobId: string; readonly attempt: number } | null;
};

/** Parses an instance resource of the API or of the client. */
export function readInstance(instance: unknown): NamedVm {
  const { name, id, zone, status, labels } = instanceSchema.parse(instance);
  return {
    vmName: name,
    zone: zone.split('/').at(-1) ?? zone,
    instanceId: id,
    status: STATUSES[status] ?? 'STARTING',
    owner: readLabels(labels ?? {}) ?? null,
  };
}

/** The VM as the port returns it; undefined if it is not Dropforge's. */
export function toVm({ owner, ...vm }: NamedVm): Vm | undefined {
  return owner === null ? undefined : { ...vm, ...owner };
}

/** The VM with this name in this zone; undefined if there is none. */
export async function findInstance(
  { instances, projectId }: { readonly instances: InstancesClient; readonly projectId: string },
  { vmName, zone }: { readonly vmName: string; readonly zone: string },
): Promise<NamedVm | undefined> {
  try {
    const [instance] = await instances.get({ project: projectId, zone, instance: vmName });
    return readInstance(instance);
  } catch (error) {
    if (parseRequestFault(error)?.httpStatus === NOT_FOUND) {
      return undefined;
    }
    throw error;
  }
}
