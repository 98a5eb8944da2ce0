import type { Cause } from '#shared/domain/cause.ts';
import type { HistoryEntry } from '#shared/domain/history-entry.ts';
import type { JobSpec, ProvisioningModel, Role } from '#shared/domain/job-spec.ts';
import type { JobState } from '#shared/domain/job-state.ts';
import type { JobText } from '#shared/domain/job-text.ts';
import type { PackageLayout } from '#shared/domain/package-layout.ts';

/** Milliseconds since the Unix epoch. The domain reads no clock: times arrive inside events. */
export type TimestampMs = number;

/** Where an attempt runs. */
export type Placement = {
  readonly zone: string;
  readonly provisioningModel: ProvisioningModel;
  readonly machineImage: string;
};

/** `us-central1-a` is a zone of `us-central1` (Compute Engine docs, "Regions and zones"). */
export function regionOf(zone: string): string {
  return zone.slice(0, zone.lastIndexOf('-'));
}

/** One member of a job's cluster. */
export type ReplicaId = { readonly role: Role; readonly index: number };

/** A VM that Compute Engine has confirmed to exist. `instanceId` is assigned by Compute Engine and never reused. */
export type Instance = ReplicaId & { readonly vmName: string; readonly instanceId: string };

/** A validated package, pinned to one generation: every attempt runs the same bytes. */
export type PackageRef = {
  readonly uri: string;
  readonly generation: string;
  /** Base64 of the big-endian CRC32C, as in Cloud Storage's object resource. */
  readonly crc32c: string;
  readonly sizeBytes: number;
  /** By the module of each program that has the package; missing in jobs that v0.1.0 accepted. */
  readonly layouts?: readonly { readonly module: string; readonly layout: PackageLayout }[] | undefined;
};

/** Where the job came from, and what distinguishes a repeated submission from a different one with the same job id. */
export type JobSource = {
  /** The upload's `gs://` URI, or the message's `pubsub://` URI. */
  readonly uri: string;
  /** Generation of the upload, or message id: equal for every delivery of one submission. */
  readonly deliveryId: string;
  /** Hexadecimal SHA-256 of job file and packages: equal when the same job is uploaded again. */
  readonly digest: string;
  /** The object that holds the report and, later, the job document. */
  readonly reportUri: string;
  /** E-mail address that a signature has proven; null for submissions that prove none. */
  readonly submittedBy: string | null;
  /** Null for the job of a trial, whose tuning has it; for a text that is too long to be stored; and in older records. */
  readonly text: JobText | null;
};

/** A finding that does not prevent the job from running: what, where, and what to write instead. */
export type Warning = {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly path?: string | undefined;
  readonly line?: number | undefined;
};

/** One entry of the ledger: how an attempt ended. */
export type AttemptRecord = {
  readonly attempt: number;
  readonly zone: string | null;
  readonly provisioningModel: ProvisioningModel | null;
  /** Time from which VMs may have been billed; null if none were created. */
  readonly placedAt: TimestampMs | null;
  readonly ranAt: TimestampMs | null;
  readonly endedAt: TimestampMs;
  readonly cause: Cause | null;
};

export const ATTEMPT_RECORDS_MAX = 50;

/** How a job ends; decided before its VMs are deleted. */
export type Verdict = {
  readonly state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  readonly cause: Cause | null;
  /** Set if the program was asked to end before its own end, and succeeded with what it had. */
  readonly isStoppedEarly?: true | undefined;
};

/** The tuning and the trial that a job belongs to. */
export type TrialRef = {
  readonly tuningId: string;
  /** From 1; as text, the trial's id. */
  readonly ordinal: number;
  /** The metrics that the tuning needs: the agent reports their history, not only their last values. */
  readonly metricIds: readonly string[];
};

/** The VM of a replica whose program failed, which stays for a look. */
export type KeptVm = {
  /** The name that is returned by `replicaName`. */
  readonly replica: string;
  readonly vmName: string;
  /** Null if Compute Engine's answer had not arrived when the program failed. */
  readonly instanceId: string | null;
  readonly placement: Placement;
  readonly since: TimestampMs;
  /** When it is deleted at the latest. */
  readonly until: TimestampMs;
  /** When its deletion was decided, or its end was noticed; null while it is kept. */
  readonly releasedAt: TimestampMs | null;
};

/** A limit that the VMs of waiting jobs exceed together with those that exist. */
export type WaitedLimit = {
  readonly metric: string;
  /** The same as in QuotaLimit. */
  readonly family: string | null;
  readonly limit: number;
  /** Null if the limit is for all regions together. */
  readonly region: string | null;
  /** Whether the job waits behind others, and has not exceeded the limit itself. */
  readonly isHeld: boolean;
};

type JobCommon = {
  readonly jobId: string;
  /** Null for a job that users submitted. */
  readonly trial: TrialRef | null;
  readonly spec: JobSpec;
  readonly packages: readonly PackageRef[];
  readonly source: JobSource;
  readonly warnings: readonly Warning[];
  readonly createdAt: TimestampMs;
  /** Number of the current attempt, from 1: the fencing token that invalidates older attempts. */
  readonly attempt: number;
  /** Placement round within this attempt, from 1. Messages of earlier rounds are stale. */
  readonly placementRound: number;
  /** Zones that were tried without success since zone fallback last started from the first zone. */
  readonly exhaustedZones: readonly string[];
  /** Zones that offer all machine types of this job, in order of preference. */
  readonly zones: readonly string[];
  readonly firstRanAt: TimestampMs | null;
  /** Total time that earlier attempts were RUNNING, which counts against maxRunningTime. */
  readonly ranMs: number;
  readonly counts: JobCounts;
  /** The last ATTEMPT_RECORDS_MAX attempts that have ended; only the newest keep their evidence. */
  readonly ledger: readonly AttemptRecord[];
  /** Why the job is waiting, as shown to the user; null while it is not. */
  readonly waitingFor: Cause | null;
  /** When a quota was first exceeded that has been exceeded in every placement since; null if the last one was not. */
  readonly quotaWaitSince: TimestampMs | null;
  /** When a service perimeter first denied a request; null if none has since the program last started. */
  readonly deniedSince: TimestampMs | null;
  /** The limit that the VMs of this job or of those before it exceeded; null once its VMs exist. */
  readonly waitsFor: WaitedLimit | null;
  /** Placements that have ended, but whose VMs may still exist: each counts against the limits as the current one does. */
  readonly endedPlacements: number;
  /** The newest events, oldest first. Every event that changes the job is also a line of the log. */
  readonly history: readonly HistoryEntry[];
};

export type JobCounts = {
  readonly interruptions: number;
  /** Interruptions since the last attempt that ran for at least STABLE_RUN_MS. */
  readonly interruptionsInRow: number;
  /** Attempts in a row that ended because a VM never sent a heartbeat. */
  readonly bootFailuresInRow: number;
  readonly restarts: number;
  /** Placements in which Compute Engine could not create the VMs. */
  readonly createFailures: number;
  /** Placement rounds in a row whose provision message became a dead letter before Compute Engine had answered. */
  readonly deliveryFailuresInRow: number;
  /** VMs in a row that were created and deleted without the program having run: each is billed for a minute or more. */
  readonly unusedVms: number;
};

/** Every job that is not closed has a deadline, `wakeAt`, at which the reconciler re-checks it. */
type Unfinished = JobCommon & { readonly wakeAt: TimestampMs };

/**
 * The failure of a replica's program, until it is known whether another replica was interrupted: the others fail when
 * they lose the connection to it.
 */
export type HeldFailure = {
  readonly replica: string;
  readonly cause: Cause;
  /** When the program ended. */
  readonly failedAt: TimestampMs;
  readonly heldAt: TimestampMs;
  /** Whether the master has succeeded after this failure. */
  readonly hasMasterSucceeded: boolean;
};

type Placed = Unfinished & {
  readonly placement: Placement;
  /** Empty until Compute Engine has confirmed that all VMs of the attempt exist. */
  readonly instances: readonly Instance[];
  readonly placedAt: TimestampMs;
  /** Set only for a cluster; `wakeAt` is then the next check on it. */
  readonly heldFailure: HeldFailure | null;
};

/**
 * A job, by the status that the control plane acts on. CLOSING: the verdict is final and the VMs are being deleted.
 * `stateOf` maps the status to the state that users see.
 */
export type Job =
  | (Unfinished & {
      readonly status: 'QUEUED';
      readonly isBackingOff: boolean;
      /** Whether its VMs are counted already: it falls back from a zone without VMs to the next one. */
      readonly isAdmitted: boolean;
    })
  | (Placed & {
      readonly status: 'PREPARING';
      /** Time of the master's first heartbeat; null before. */
      readonly reportedAt: TimestampMs | null;
      /** Until when the VM may wait for capacity at Compute Engine, unbilled; null if it is not waiting. */
      readonly pendingUntil: TimestampMs | null;
      /** When it was found that some VMs of a cluster have started while others wait for capacity; null before. */
      readonly assemblingSince: TimestampMs | null;
    })
  /**
   * `uploadingAt`: when the master reported that its program has exited and its outputs are being uploaded; null
   * before.
   */
  | (Placed & {
      readonly status: 'RUNNING';
      readonly ranAt: TimestampMs;
      readonly uploadingAt: TimestampMs | null;
      /**
       * When the program was asked to end before its own end; null if it was not. Heartbeats are answered STOP, and the
       * job succeeds once its outputs are saved.
       */
      readonly stopRequestedAt: TimestampMs | null;
    })
  | (Unfinished & {
      readonly status: 'CLOSING';
      readonly verdict: Verdict;
      readonly shownAs: JobState;
      /** Null if no VM was kept; `shownAs` is FAILED otherwise. */
      readonly kept: KeptVm | null;
    })
  | (JobCommon & {
      readonly status: 'CLOSED';
      readonly verdict: Verdict;
      readonly endedAt: TimestampMs;
      readonly kept: KeptVm | null;
    });

export const JOB_STATUSES = [
  'QUEUED',
  'PREPARING',
  'RUNNING',
  'CLOSING',
  'CLOSED',
] as const satisfies readonly Job['status'][];
export type JobStatus = (typeof JOB_STATUSES)[number];
export type JobIn<S extends JobStatus> = Extract<Job, { status: S }>;
export type PlacedJob = JobIn<'PREPARING'> | JobIn<'RUNNING'>;
export type UnfinishedJob = Exclude<Job, { status: 'CLOSED' }>;

/**
 * The state that users see. A job is PREPARING once its VMs exist, not during zone fallback. A job whose VMs are being
 * deleted keeps the state it had, or is CANCELLING, until they are gone; but the failure of a job that keeps a VM is
 * shown at once.
 */
export function stateOf(job: Job): JobState {
  switch (job.status) {
    case 'CLOSED':
      return job.verdict.state;
    case 'CLOSING':
      return job.verdict.state === 'CANCELLED' ? 'CANCELLING' : job.shownAs;
    case 'PREPARING':
      return job.instances.length === 0 ? 'QUEUED' : 'PREPARING';
    default:
      return job.status;
  }
}

/** The rest of maxRunningTime at the start of an attempt; the time between attempts does not count. */
export function remainingRunningMs({ ranMs, spec }: Pick<Job, 'ranMs' | 'spec'>): number {
  return Math.max(0, spec.limits.maxRunningMs - ranMs);
}

/** Whether an event or message belongs to the job's current placement round; otherwise it is stale. */
export function isCurrentRound(
  job: Job,
  about: { readonly attempt: number; readonly placementRound: number },
): boolean {
  return about.attempt === job.attempt && about.placementRound === job.placementRound;
}

export function isPlaced(job: Job): job is PlacedJob {
  return job.status === 'PREPARING' || job.status === 'RUNNING';
}

/**
 * Whether all VMs of the attempt are confirmed to exist, so that programs may start (gang scheduling): Compute Engine
 * can report the failure of one VM long after the others have booted. Always true for a job of one replica.
 */
export function allReplicasCreated({ spec, instances }: Pick<PlacedJob, 'spec' | 'instances'>): boolean {
  return instances.length > 0 || replicasOf(spec).length === 1;
}

/** A job whose VM is waiting for capacity at Compute Engine. */
export type PendingJob = JobIn<'PREPARING'> & { readonly pendingUntil: TimestampMs };

export function isPending(job: Job): job is PendingJob {
  return job.status === 'PREPARING' && job.pendingUntil !== null;
}

/** A job that has failed, while the VM of one of its replicas is kept. */
export type KeepingJob = JobIn<'CLOSING'> & { readonly kept: KeptVm };

export function isKeeping(job: Job): job is KeepingJob {
  return job.status === 'CLOSING' && job.kept !== null && job.kept.releasedAt === null;
}

/** Time from which VMs may have been billed; null while there are none. */
export function billedSince(job: Job): TimestampMs | null {
  if (!isPlaced(job)) {
    return null;
  }
  return isPending(job) ? job.assemblingSince : job.placedAt;
}

export function replicaName({ role, index }: ReplicaId): string {
  return `${role}-${index}`;
}

/** The replica whose phases and exit decide the job's. */
export const MASTER = replicaName({ role: 'master', index: 0 });

/** All members of the job's cluster, the master first. */
export function replicasOf(spec: JobSpec): readonly ReplicaId[] {
  return spec.replicaGroups.flatMap(({ role, count }) =>
    Array.from({ length: count }, (_, index) => ({ role, index })),
  );
}
