import type { Cause } from '#shared/domain/cause.ts';
import type { Instance, Job, Placement, TimestampMs } from '#shared/domain/job.ts';

/** How Compute Engine refused a place, and what it said about others. */
export type VmCreateFailure = {
  readonly cause: Cause;
  /** Zones that the error itself recommends (`errorInfo.metadatas.zonesAvailable`). */
  readonly zonesAvailable: readonly string[];
  /** The quota that was exceeded, where the refusal says which. */
  readonly quota?: QuotaLimit;
};

/** How much of something may be used at once: by the project in all regions together, or in the region of the place. */
export type QuotaLimit = {
  readonly metric: string;
  /** In the metric's own unit: GPUS_ALL_REGIONS counts GPUs, CPUS cores. */
  readonly limit: number;
  readonly scope: 'PROJECT' | 'REGION';
};

/** How a replica's program ended, as its agent saw it. */
export type ReplicaExit = { readonly outcome: 'SUCCEEDED' } | { readonly outcome: 'FAILED'; readonly cause: Cause };

/**
 * What happened, in the past tense. `eventId` is derived from what happened, so that two deliveries are one event;
 * `attempt` fences off what belongs to an attempt that is over.
 */
export type JobEvent = { readonly eventId: string; readonly jobId: string; readonly at: TimestampMs } & (
  | {
      readonly type: 'PLACEMENT_CHOSEN';
      readonly attempt: number;
      readonly placementTry: number;
      readonly placement: Placement;
    }
  | {
      readonly type: 'NO_PLACEMENT_LEFT';
      readonly attempt: number;
      readonly placementTry: number;
      readonly retryAt: TimestampMs;
    }
  | { readonly type: 'PLACEMENT_FAILED'; readonly attempt: number; readonly failure: VmCreateFailure }
  | {
      readonly type: 'VMS_CREATED';
      readonly attempt: number;
      readonly placementTry: number;
      readonly instances: readonly Instance[];
    }
  /** Compute Engine has taken the request and starts the VM when a machine comes free, or gives it up at `until`. */
  | {
      readonly type: 'VMS_PENDING';
      readonly attempt: number;
      readonly placementTry: number;
      readonly until: TimestampMs;
    }
  /** The replica's first word, while it sets up. */
  | { readonly type: 'REPLICA_REPORTED'; readonly attempt: number; readonly replica: string }
  | { readonly type: 'REPLICA_STARTED'; readonly attempt: number; readonly replica: string }
  /** The replica's program is over, and its outputs are being saved. */
  | { readonly type: 'REPLICA_UPLOADING'; readonly attempt: number; readonly replica: string }
  | { readonly type: 'REPLICA_EXITED'; readonly attempt: number; readonly replica: string; readonly exit: ReplicaExit }
  | { readonly type: 'ATTEMPT_INTERRUPTED'; readonly attempt: number; readonly cause: Cause }
  | { readonly type: 'CANCEL_REQUESTED' }
  | {
      readonly type: 'DELIVERY_EXHAUSTED';
      readonly topic: string;
      /** What the message was about; 0 where it names no try. */
      readonly attempt: number;
      readonly placementTry: number;
      readonly problem: string;
    }
  | { readonly type: 'DEADLINE_PASSED' }
  | { readonly type: 'VMS_GONE' }
);

export type JobEventType = JobEvent['type'];
export type EventOf<E extends JobEventType> = Extract<JobEvent, { type: E }>;

/** What must be done next, in the imperative: plain data, safe to perform twice. Each becomes one message on a stage topic. */
export type Effect =
  | { readonly type: 'PROVISION'; readonly jobId: string; readonly attempt: number; readonly placementTry: number }
  | { readonly type: 'TEARDOWN'; readonly jobId: string }
  | { readonly type: 'JOB_UPDATE'; readonly jobId: string; readonly state: string; readonly attempt: number };

export type Transition = { readonly job: Job; readonly effects: readonly Effect[] };
