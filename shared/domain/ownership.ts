import { isKeeping, type Job, type KeepingJob, type PlacedJob, replicasOf } from '#shared/domain/job.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';

/** A VM, as its identity token or its labels name it. */
export type VmClaim = {
  readonly vmName: string;
  readonly zone: string;
  readonly instanceId: string;
};

/**
 * Whether a VM belongs to the job's current attempt: its name, its zone and, once recorded, its instance id match. Any
 * other VM with the job's label is orphaned: it is told to stop, and deleted.
 */
export function ownsVm(job: Job, vm: VmClaim): job is PlacedJob {
  if (job.status !== 'PREPARING' && job.status !== 'RUNNING') {
    return false;
  }
  const isNamed = replicasOf(job.spec).some((replica) => vmNameOf(job.jobId, job.attempt, replica) === vm.vmName);
  const recorded = job.instances.find(({ vmName }) => vmName === vm.vmName);
  return isNamed && vm.zone === job.placement.zone && (recorded === undefined || recorded.instanceId === vm.instanceId);
}

/** Whether the VM is the one that the job keeps after its failure. */
export function keepsVm(job: Job, vm: VmClaim): job is KeepingJob {
  if (!isKeeping(job)) {
    return false;
  }
  const { vmName, instanceId, placement } = job.kept;
  return vmName === vm.vmName && placement.zone === vm.zone && (instanceId === null || instanceId === vm.instanceId);
}
