import type { Cause } from '#shared/domain/cause.ts';
import type { Instance, Placement, TimestampMs, WaitedLimit } from '#shared/domain/job.ts';
import type { ReplicaExit } from '#shared/domain/replica.ts';

/** Why Compute Engine could not create an attempt's VMs, and what its error says about other zones. */
export type VmCreateFailure = {
  readonly cause: Cause;
  /** Zones that the error recommends (`errorInfo.metadatas.zonesAvailable`). */
  readonly zonesAvailable: readonly string[];
  /** The quota that was exceeded, if the error names it. */
  readonly quota?: QuotaLimit;
};

/** A quota's limit: for the project in all regions together, or for the region of the placement. */
export type QuotaLimit = {
  readonly metric: string;
  /** The family of machines or GPUs that the limit is for, of metrics that have several limits; otherwise null. */
  readonly family: string | null;
  /** In the metric's own unit: GPUS_ALL_REGIONS counts GPUs, CPUS cores. */
  readonly limit: number;
  readonly scope: 'PROJECT' | 'REGION';
};

/**
 * A fact about a job, in the past tense. `eventId` is derived from the fact, so that duplicate deliveries are one
 * event. `attempt` fences off events of earlier attempts.
 */
export type JobEvent = {
  readonly eventId: string;
  readonly jobId: string;
  readonly at: TimestampMs;
  /** Who asked for it: an e-mail address that a signature has proven, or TUNING; null if that is not known. */
  readonly by?: string | null | undefined;
} & (
  | {
      readonly type: 'PLACEMENT_CHOSEN';
      readonly attempt: number;
      readonly placementRound: number;
      readonly placement: Placement;
    }
  | {
      readonly type: 'NO_PLACEMENT_LEFT';
      readonly attempt: number;
      readonly placementRound: number;
      readonly retryAt: TimestampMs;
      /** The jobs for which capacity is held. */
      readonly behind: {
        readonly jobIds: readonly string[];
        readonly waitsFor: WaitedLimit;
        /** Whether they wait for a quota, of which the wait is limited. */
        readonly isQuota: boolean;
      } | null;
      /** The limit of the deployment that the job's VMs exceed with those of others, or by themselves (`isTooLow`). */
      readonly exceeded: { readonly waitsFor: WaitedLimit; readonly cause: Cause; readonly isTooLow: boolean } | null;
    }
  /** The job directory says that the program of the attempt before has succeeded, and has all of its outputs. */
  | { readonly type: 'SUCCESS_FOUND'; readonly attempt: number }
  | {
      readonly type: 'PLACEMENT_FAILED';
      readonly attempt: number;
      readonly failure: VmCreateFailure;
      /** How much of the exceeded quota the job itself needs; null if that is not known. */
      readonly quotaDemand: number | null;
      /** VMs of the attempt that were created and deleted again, since another one could not be created. */
      readonly vmsCreated: number;
      /** Whether all of them are known not to exist any more. */
      readonly areVmsGone: boolean;
    }
  | {
      readonly type: 'VMS_CREATED';
      readonly attempt: number;
      readonly placementRound: number;
      readonly instances: readonly Instance[];
    }
  /**
   * Compute Engine has queued the request: it starts the VM when capacity becomes available, or gives up at `until`.
   */
  | {
      readonly type: 'VMS_PENDING';
      readonly attempt: number;
      readonly placementRound: number;
      readonly until: TimestampMs;
      /** VMs of the cluster that have started, and are billed, while others wait. */
      readonly startedVms: number;
    }
  /** The replica's first heartbeat, during setup. */
  | { readonly type: 'REPLICA_REPORTED'; readonly attempt: number; readonly replica: string }
  /** The programs of all replicas have started, that of this one last. */
  | { readonly type: 'REPLICA_STARTED'; readonly attempt: number; readonly replica: string }
  /** The replica's program has exited, and its outputs are being uploaded. */
  | { readonly type: 'REPLICA_UPLOADING'; readonly attempt: number; readonly replica: string }
  | {
      readonly type: 'REPLICA_EXITED';
      readonly attempt: number;
      readonly replica: string;
      readonly exit: ReplicaExit;
      /** When the program ended, before its outputs were saved; absent if the agent did not report it. */
      readonly endedAt?: TimestampMs;
    }
  /** How the attempt ends whose failure was held. */
  | {
      readonly type: 'HELD_FAILURE_RESOLVED';
      readonly attempt: number;
      readonly exit: ReplicaExit;
      /** The replica that failed first. */
      readonly replica: string;
    }
  | { readonly type: 'ATTEMPT_INTERRUPTED'; readonly attempt: number; readonly cause: Cause }
  /** By the tuning of a trial if that has ended, otherwise by a user. */
  | { readonly type: 'CANCEL_REQUESTED' }
  /** Delete the VM that was kept after a failure. */
  | { readonly type: 'RELEASE_REQUESTED' }
  /** A shell was opened, or a command run, in the VM of a replica. */
  | { readonly type: 'SHELL_OPENED'; readonly replica: string }
  /** End the program before its own end, save its outputs, and succeed. */
  | { readonly type: 'STOP_REQUESTED' }
  | {
      readonly type: 'DELIVERY_EXHAUSTED';
      readonly topic: string;
      /** Attempt and placement round of the dead letter; 0 if it names none. */
      readonly attempt: number;
      readonly placementRound: number;
      readonly problem: string;
    }
  /** `unstarted`: which replicas of a cluster have not started their programs, and what they do; absent if all have. */
  | { readonly type: 'DEADLINE_PASSED'; readonly unstarted?: string }
  /** VMs of other jobs are gone, or the jobs before this one have theirs. */
  | { readonly type: 'CAPACITY_FREED' }
  /**
   * No VM of an ended placement exists any more. `isClosing`: whether the job was CLOSING when they were listed, and
   * keeps one VM, which may exist.
   */
  | {
      readonly type: 'ENDED_PLACEMENTS_GONE';
      readonly attempt: number;
      readonly placementRound: number;
      readonly isClosing: boolean;
    }
  | { readonly type: 'VMS_GONE' }
);

export type JobEventType = JobEvent['type'];
export type EventOf<E extends JobEventType> = Extract<JobEvent, { type: E }>;
