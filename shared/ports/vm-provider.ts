import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { ReplicaId } from '#shared/domain/job.ts';
import type { BootDiskType, ProvisioningModel, Reservation } from '#shared/domain/job-spec.ts';

/** Everything that one VM is created from. */
export type VmRequest = ReplicaId & {
  readonly vmName: string;
  readonly zone: string;
  readonly jobId: string;
  readonly attempt: number;
  readonly machineType: string;
  readonly accelerator: { readonly type: string; readonly count: number } | null;
  readonly provisioningModel: ProvisioningModel;
  readonly machineImage: string;
  readonly bootDiskGib: number;
  readonly bootDiskType: BootDiskType;
  /** Null leaves it to the cloud: any that fits. */
  readonly reservation: Reservation | null;
  /** The user's own labels, which the VM carries beside Dropforge's. */
  readonly labels: Readonly<Record<string, string>>;
  /** With FLEX_START, how long the request may wait for capacity before it is given up; null with all else. */
  readonly capacityWaitSeconds: number | null;
  /** Compute Engine deletes the VM after so long, whatever anybody else does. */
  readonly maxRunSeconds: number;
  /** Metadata attributes: at most 256 KiB each, 512 KiB in all. */
  readonly metadata: Readonly<Record<string, string>>;
};

/** PENDING waits for capacity: it does not run, and its machine is not billed. */
export type VmStatus = 'PENDING' | 'STARTING' | 'RUNNING' | 'STOPPING' | 'TERMINATED';

export type Vm = {
  readonly vmName: string;
  readonly zone: string;
  readonly instanceId: string;
  /** From the VM's labels. */
  readonly jobId: string;
  readonly attempt: number;
  readonly status: VmStatus;
};

export type CreateOutcome =
  | { readonly outcome: 'CREATED'; readonly instanceId: string }
  /** The request waits for capacity: the VM starts later, or is given up when `capacityWaitSeconds` are over. */
  | { readonly outcome: 'PENDING'; readonly instanceId: string }
  | { readonly outcome: 'FAILED'; readonly failure: VmCreateFailure };

/** The cloud could not ask some of its zones: these VMs exist, and there may be others. */
export class IncompleteListError extends Error {
  readonly seen: readonly Vm[];

  constructor(zones: readonly string[], seen: readonly Vm[]) {
    super(`The list of VMs is not complete: ${zones.join(', ')} could not be asked. It will be asked for again.`);
    this.seen = seen;
  }
}

/**
 * VMs. Creating the VM of a request that was met before is a success, with the same instance id. Passing faults are
 * thrown: ask again.
 */
export type VmProvider = {
  create(request: VmRequest): Promise<CreateOutcome>;
  /** The VM of this name as the cloud knows it now; undefined when there is none. */
  find(vm: { readonly vmName: string; readonly zone: string }): Promise<Vm | undefined>;
  /**
   * GONE only when the cloud says that there is no such VM; DELETING while it is still there. It may take minutes until
   * the deletion is over; whoever has others to delete need not wait for it, and hears DELETING when it has begun.
   */
  delete(
    vm: { readonly vmName: string; readonly zone: string },
    options?: { readonly isWaitedFor: boolean },
  ): Promise<'GONE' | 'DELETING'>;
  /**
   * Every VM that Dropforge has created and that still exists in any zone, from the cloud's own list. Throws an
   * IncompleteListError where the cloud cannot see all zones: no VM is gone because its zone is silent.
   */
  list(query?: { readonly jobId: string }): Promise<readonly Vm[]>;
};

/** What the provision stage does: it takes back what it has made, and need not see the VMs of others. */
export type VmCreation = Pick<VmProvider, 'create' | 'find' | 'delete'>;

/** What the teardown stage does: no VM is made by it. */
export type VmRemoval = Pick<VmProvider, 'delete' | 'list'>;
