import {
  isKeeping,
  isPlaced,
  type Job,
  type KeepingJob,
  type PlacedJob,
  replicaName,
  replicasOf,
} from '#shared/domain/job.ts';
import type { Replica } from '#shared/domain/replica.ts';
import { vmNameOf } from '#shared/domain/vm-name.ts';

/** A VM, as its identity token or its labels name it. */
export type VmClaim = {
  readonly vmName: string;
  readonly zone: string;
  readonly instanceId: string;
};

/** A VM's identity, as proven by its signed token. */
export type VmIdentity = VmClaim & {
  /** The account that the VM runs as; null for the deployment's own. Whether its job has it is checked with the job. */
  readonly serviceAccount: string | null;
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

/**
 * Whether a replica's record is of a VM of the current placement. A heartbeat that has read the job before its VMs were
 * deleted writes its record afterwards, and an attempt has VMs of the same names in several zones. Before instances are
 * recorded, the time tells: no VM reports before it was requested.
 */
export function ownsReplica(job: Job, { attempt, replica, instanceId, heardAt }: Replica): job is PlacedJob {
  if (!isPlaced(job) || job.attempt !== attempt) {
    return false;
  }
  const recorded = job.instances.find((instance) => replicaName(instance) === replica);
  const isRecent = job.instances.length > 0 || heardAt > job.placedAt;
  return recorded === undefined ? isRecent : recorded.instanceId === instanceId;
}

/** Whether the VM is the one that the job keeps after its failure. */
export function keepsVm(job: Job, vm: VmClaim): job is KeepingJob {
  if (!isKeeping(job)) {
    return false;
  }
  const { vmName, instanceId, placement } = job.kept;
  return vmName === vm.vmName && placement.zone === vm.zone && (instanceId === null || instanceId === vm.instanceId);
}
