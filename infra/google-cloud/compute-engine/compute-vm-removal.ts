import type { InstancesClient, ZoneOperationsClient } from '@google-cloud/compute';
import { z } from 'zod';
import { faultOfRequest } from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { readInstance, toVm } from '#infra/google-cloud/compute-engine/read-instance.ts';
import { IncompleteListError, type Vm, type VmRemoval } from '#shared/ports/vm-provider.ts';
import { filterOf } from '#shared/protocol/vm-labels.ts';

/** Where VMs are looked for. */
export type ComputeProject = {
  readonly instances: InstancesClient;
  readonly operations: ZoneOperationsClient;
  readonly projectId: string;
};

const NOT_FOUND = 404;

/** gRPC's code, which the client itself gives to what it has waited for too long. */
const DEADLINE_EXCEEDED = 4;

/** So many VMs are far more than a deployment should ever have; whoever has them sees the sweep fail rather than end. */
const VMS_COUNT_MAX = 10_000;

/**
 * What a zone's part of an aggregated list warns of when it could not be asked; the answer's status is 200 all the same
 * (API, InstancesScopedList.warning). That a page has nothing of a zone is a warning too, and means nothing.
 */
const INCOMPLETE = /^(UNREACHABLE|PARTIAL_SUCCESS)$/;

const operationSchema = z.object({ name: z.string() });

/** The VMs of Compute Engine that Dropforge has made, to be listed and deleted. */
export function createComputeVmRemoval(compute: ComputeProject): VmRemoval {
  const { instances, projectId: project } = compute;
  return {
    async delete({ vmName, zone }, { isWaitedFor } = { isWaitedFor: true }) {
      const vm = { project, zone, instance: vmName };
      try {
        const [started] = await instances.delete(vm);
        if (!isWaitedFor) {
          return 'DELETING';
        }
        await untilOver(compute, zone, started.latestResponse);
        await instances.get(vm);
        return 'DELETING';
      } catch (error) {
        if (faultOfRequest(error)?.httpStatus === NOT_FOUND) {
          return 'GONE';
        }
        throw error;
      }
    },
    async list(query) {
      const vms: Vm[] = [];
      const unseen: string[] = [];
      // The client's own joining of pages would end at the first: the loop is it.
      const pages = instances.aggregatedListAsync({ project, filter: filterOf(query) }, { autoPaginate: false });
      for await (const [scope, zone] of pages) {
        if (INCOMPLETE.test(String(zone.warning?.code ?? ''))) {
          unseen.push(scope);
        }
        vms.push(...(zone.instances ?? []).flatMap((instance) => toVm(readInstance(instance)) ?? []));
        if (vms.length > VMS_COUNT_MAX) {
          throw new Error(`There are more than ${VMS_COUNT_MAX} VMs of Dropforge in ${project}.`);
        }
      }
      // Compute Engine's filter sees the first part of a long job id.
      const found = query === undefined ? vms : vms.filter(({ jobId }) => jobId === query.jobId);
      if (unseen.length > 0) {
        throw new IncompleteListError(unseen, found);
      }
      return found;
    },
  };
}

/**
 * Waits for a deletion while somebody waits for the job to close; after two minutes Compute Engine answers in any case
 * (API docs, "zoneOperations.wait"). How it ended is not asked: whether the VM is still there is.
 */
async function untilOver({ operations, projectId }: ComputeProject, zone: string, operation: unknown): Promise<void> {
  const { name } = operationSchema.parse(operation);
  try {
    await operations.wait({ project: projectId, zone, operation: name });
  } catch (error) {
    if (!isNotKnownYet(error)) {
      throw error;
    }
  }
}

/** The operation is not to be seen, or the answer took too long. Anything else, such as a missing right, is a fault. */
function isNotKnownYet(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return code === DEADLINE_EXCEEDED || [NOT_FOUND, 408, 504].includes(faultOfRequest(error)?.httpStatus ?? 0);
}
