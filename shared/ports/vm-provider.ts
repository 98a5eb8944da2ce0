import type { VmCreateFailure } from '#shared/domain/event.ts';
import type { ReplicaId } from '#shared/domain/job.ts';
import type { BootDiskType, ProvisioningModel, Reservation } from '#shared/domain/job-spec.ts';

/**
 * Compute Engine's limits on metadata: 256 KiB per value, 512 KiB in total
 * (cloud.google.com/compute/docs/metadata/setting-custom-metadata).
 */
export const METADATA_VALUE_BYTES_MAX = 256 << 10;
export const METADATA_BYTES_MAX = 512 << 10;

/** Everything that a VM is created from. */
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
  /** Null: Compute Engine's default, any matching reservation. */
  readonly reservation: Reservation | null;
  /** Null for the deployment's own, as for the following three. */
  readonly serviceAccount: string | null;
  /** Full name of the subnetwork of the first interface. */
  readonly subnetwork: string | null;
  /** Full name of the network attachment of a second interface; null for one interface. */
  readonly networkAttachment: string | null;
  /** The Cloud KMS key of the boot disk. */
  readonly kmsKeyName: string | null;
  /** The user's labels, in addition to Dropforge's own. */
  readonly labels: Readonly<Record<string, string>>;
  /** With FLEX_START, how long the request may wait for capacity; otherwise null. */
  readonly capacityWaitSeconds: number | null;
  /** Compute Engine deletes the VM after this time, whatever the control plane and the agent do. */
  readonly maxRunSeconds: number;
  /** Metadata attributes: at most METADATA_VALUE_BYTES_MAX each, less than METADATA_BYTES_MAX with their keys. */
  readonly metadata: Readonly<Record<string, string>>;
};

/** PENDING: waits for capacity, does not run and is not billed. */
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
  /** The request waits for capacity: the VM starts later, or is deleted after `capacityWaitSeconds`. */
  | { readonly outcome: 'PENDING'; readonly instanceId: string }
  | { readonly outcome: 'FAILED'; readonly failure: VmCreateFailure };

/** Some zones were unreachable: the VMs in `seen` exist, and there may be others in `zones`. */
export class IncompleteListError extends Error {
  readonly zones: readonly string[];
  readonly seen: readonly Vm[];

  constructor(zones: readonly string[], seen: readonly Vm[]) {
    super(`The list of VMs is incomplete: ${zones.join(', ')} could not be reached. It is retried.`);
    this.zones = zones;
    this.seen = seen;
  }
}

/**
 * Creates, lists and deletes VMs. Creating a VM that an earlier, equal request has created succeeds with the same
 * instance id. Transient errors are thrown: retry.
 */
export type VmProvider = {
  create(request: VmRequest): Promise<CreateOutcome>;
  /** Why these VMs cannot exist together at the moment; undefined if that is only known once they are created. */
  findShortage(requests: readonly VmRequest[]): Promise<VmCreateFailure | undefined>;
  /** The VM of this name, undefined if it does not exist. */
  find(vm: { readonly vmName: string; readonly zone: string }): Promise<Vm | undefined>;
  /**
   * GONE only if Compute Engine confirms that the VM does not exist; DELETING while it does. A deletion can take
   * minutes: with `isWaitedFor: false` the call returns DELETING once it has started.
   */
  delete(
    vm: { readonly vmName: string; readonly zone: string },
    options?: { readonly isWaitedFor: boolean },
  ): Promise<'GONE' | 'DELETING'>;
  /**
   * Every existing VM that Dropforge created, in all zones, from Compute Engine's list. Throws IncompleteListError if a
   * zone is unreachable, since a VM in it may still exist.
   */
  list(query?: { readonly jobId: string }): Promise<readonly Vm[]>;
};

/** For the provision stage, which deletes what it has created and does not list other VMs. */
export type VmCreation = Pick<VmProvider, 'create' | 'findShortage' | 'find' | 'delete'>;

/** For the teardown stage, which does not create VMs. */
export type VmRemoval = Pick<VmProvider, 'delete' | 'list'>;
