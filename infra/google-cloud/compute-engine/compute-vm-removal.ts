import type { InstancesClient, ZoneOperationsClient } from '@google-cloud/compute';
import * as z from 'zod';
import { parseRequestFault } from '#infra/google-cloud/compute-engine/compute-fault.ts';
import { type ComputeRest, listInstances } from '#infra/google-cloud/compute-engine/list-instances.ts';
import { readInstance, toVm } from '#infra/google-cloud/compute-engine/read-instance.ts';
import { IncompleteListError, type VmRemoval } from '#shared/ports/vm-provider.ts';
import { filterOf } from '#shared/protocol/vm-labels.ts';

/** Clients, and the project whose VMs are listed and deleted. */
export type ComputeProject = {
  readonly instances: InstancesClient;
  readonly operations: ZoneOperationsClient;
  readonly rest: ComputeRest;
  readonly projectId: string;
};

const NOT_FOUND = 404;

/** The gRPC code that the client throws when a call exceeds its own timeout. */
const DEADLINE_EXCEEDED = 4;

/** Far more VMs than a deployment should ever have. A sweep that finds more fails instead of running out of time. */
const VMS_COUNT_MAX = 10_000;

const operationSchema = z.object({ name: z.string() });

/** Lists and deletes the VMs that Dropforge has created on Compute Engine. */
export function createComputeVmRemoval(compute: ComputeProject): VmRemoval {
  const { instances, rest, projectId } = compute;
  return {
    async delete({ vmName, zone }, { isWaitedFor } = { isWaitedFor: true }) {
      const vm = { project: projectId, zone, instance: vmName };
      try {
        const [started] = await instances.delete(vm);
        if (!isWaitedFor) {
          return 'DELETING';
        }
        await waitForDeletion(compute, zone, started.latestResponse);
        await instances.get(vm);
        return 'DELETING';
      } catch (error) {
        if (parseRequestFault(error)?.httpStatus === NOT_FOUND) {
          return 'GONE';
        }
        throw error;
      }
    },
    async list(query) {
      const { instances: found, unreachable } = await listInstances(rest, { projectId, filter: filterOf(query) });
      if (found.length > VMS_COUNT_MAX) {
        throw new Error(`The project ${projectId} has more than ${VMS_COUNT_MAX} Dropforge VMs.`);
      }
      const vms = found.flatMap((instance) => toVm(readInstance(instance)) ?? []);
      // The filter matches only the first label of a long job id.
      const ofQuery = query === undefined ? vms : vms.filter(({ jobId }) => jobId === query.jobId);
      if (unreachable.length > 0) {
        throw new IncompleteListError(unreachable, ofQuery);
      }
      return ofQuery;
    },
  };
}

/**
 * Waits for a deletion to end, for at most two minutes (API docs, "zoneOperations.wait"). The operation's result is not
 * used: the caller checks whether the VM still exists.
 */
async function waitForDeletion(
  { operations, projectId }: ComputeProject,
  zone: string,
  operation: unknown,
): Promise<void> {
  const { name } = operationSchema.parse(operation);
  try {
    await operations.wait({ project: projectId, zone, operation: name });
  } catch (error) {
    if (!isInconclusive(error)) {
      throw error;
    }
  }
}

/** Whether the operation is no longer listed or the wait timed out. Other errors, such as 403, are faults. */
function isInconclusive(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return code === DEADLINE_EXCEEDED || [NOT_FOUND, 408, 504].includes(parseRequestFault(error)?.httpStatus ?? 0);
}
