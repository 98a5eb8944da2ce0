import type { Cause } from '#shared/domain/cause.ts';
import type { JobSpec, ProvisioningModel, Role } from '#shared/domain/job-spec.ts';

/** Milliseconds since the Unix epoch. The domain never reads a clock; times arrive inside events. */
export type TimestampMs = number;

/** Job states as AI Platform Training names them: what users see. */
export const JOB_STATES = ['QUEUED', 'PREPARING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLING', 'CANCELLED'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** Where an attempt runs. */
export type Placement = {
  readonly zone: string;
  readonly provisioningModel: ProvisioningModel;
  readonly machineImage: string;
};

/** One member of the cluster. */
export type ReplicaId = { readonly role: Role; readonly index: number };

/** A VM that Compute Engine said it created; `instanceId` is its own id, never used twice. */
export type Instance = ReplicaId & { readonly vmName: string; readonly instanceId: string };

/** A checked package: this generation, with these bytes, and no other. */
export type PackageRef = {
  readonly uri: string;
  readonly generation: string;
  /** Base64 of the big-endian CRC32C, as Cloud Storage gives it. */
  readonly crc32c: string;
  readonly sizeBytes: number;
};

/** Where the job came from, and what tells a repeated submission from another one under the same id. */
export type JobSource = {
  /** The upload's `gs://` address, or the message's `pubsub://` one. */
  readonly uri: string;
  /** The generation of the upload, or the message id: a second delivery of the same has the same. */
  readonly deliveryId: string;
  /** SHA-256 of job file and packages, in hexadecimal: the same again, sent once more, has the same. */
  readonly digest: string;
  /** The object that holds the report and, later, the job document. */
  readonly reportUri: string;
};

/** Something about a submission that could be better, and was let pass: what, where, and what to write instead. */
export type Warning = {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  readonly path?: string | undefined;
  readonly line?: number | undefined;
};

/** One line of the cause ledger: how an attempt ended. */
export type AttemptRecord = {
  readonly attempt: number;
  readonly zone: string | null;
  readonly provisioningModel: ProvisioningModel | null;
  /** From when on VMs may have been billed; null when no place was found. */
  readonly placedAt: TimestampMs | null;
  readonly ranAt: TimestampMs | null;
  readonly endedAt: TimestampMs;
  readonly cause: Cause | null;
};

export const ATTEMPT_RECORDS_MAX = 50;

/** What a job ends as, decided before its VMs are gone. */
export type Verdict = { readonly state: 'SUCCEEDED' | 'FAILED' | 'CANCELLED'; readonly cause: Cause | null };

type JobCommon = {
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly packages: readonly PackageRef[];
  readonly source: JobSource;
  readonly warnings: readonly Warning[];
  readonly createdAt: TimestampMs;
  /** The number of the current attempt, from 1; older attempts are fenced off by it. */
  readonly attempt: number;
  /** How often a place was looked for within this attempt, from 1. */
  readonly placementTry: number;
  /** Zones that refused this attempt since the ladder was last begun. */
  readonly refusedZones: readonly string[];
  /** The zones in which all machines of this job exist, in the order of preference. */
  readonly zones: readonly string[];
  readonly firstRanAt: TimestampMs | null;
  /** How long the attempts before this one were RUNNING, in all; what is left of maxRunningTime follows from it. */
  readonly ranMs: number;
  readonly counts: JobCounts;
  /** The newest ATTEMPT_RECORDS_MAX attempts that ended, the newest of them with evidence. */
  readonly ledger: readonly AttemptRecord[];
  /** What held the job up last, while it waits: shown to the user. */
  readonly waitingFor: Cause | null;
};

export type JobCounts = {
  readonly interruptions: number;
  /** Interruptions since the last attempt that ran for a while. */
  readonly interruptionsInRow: number;
  /** Attempts in a row that ended because a VM had never reported. */
  readonly bootFailuresInRow: number;
  readonly restarts: number;
  readonly refusals: number;
  /** Searches for a place in a row whose message was given up before Compute Engine had answered. */
  readonly givenUpInRow: number;
};

/** Every job that is not closed has a `wakeAt`: nothing waits for ever. */
type Unfinished = JobCommon & { readonly wakeAt: TimestampMs };

type Placed = Unfinished & {
  readonly placement: Placement;
  /** Empty until Compute Engine has said that all VMs of the attempt exist. */
  readonly instances: readonly Instance[];
  readonly placedAt: TimestampMs;
};

/**
 * A job by what the pipeline has to do about it. CLOSING means that the verdict stands and the VMs must go;
 * the states that users see follow from it with `stateOf`.
 */
export type Job =
  | (Unfinished & { readonly status: 'QUEUED'; readonly isBackingOff: boolean })
  | (Placed & {
      readonly status: 'PREPARING';
      /** When the master first spoke, still setting up; null before. */
      readonly reportedAt: TimestampMs | null;
      /** Until when the VM may wait for capacity at Compute Engine, which bills no machine; null when it does not. */
      readonly pendingUntil: TimestampMs | null;
    })
  /** `uploadingAt` is when the master said that its program is over and its outputs are being saved; null before. */
  | (Placed & {
      readonly status: 'RUNNING';
      readonly ranAt: TimestampMs;
      readonly uploadingAt: TimestampMs | null;
    })
  | (Unfinished & { readonly status: 'CLOSING'; readonly verdict: Verdict; readonly shownAs: JobState })
  | (JobCommon & { readonly status: 'CLOSED'; readonly verdict: Verdict; readonly endedAt: TimestampMs });

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
 * The state that users see. A job is PREPARING once it has its VMs, not while it asks one zone after the other, and a
 * job whose VMs are still going is not yet what it will end as.
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

/** Of maxRunningTime, in milliseconds, at the start of an attempt: the time between attempts does not count. */
export function remainingRunningMs({ ranMs, spec }: Pick<Job, 'ranMs' | 'spec'>): number {
  return Math.max(0, spec.limits.maxRunningMs - ranMs);
}

export function isPlaced(job: Job): job is PlacedJob {
  return job.status === 'PREPARING' || job.status === 'RUNNING';
}

/**
 * Whether all VMs of the attempt are known to exist, so that their programs may start: a cluster comes up whole or not
 * at all, and a refusal for one VM can come long after the others have booted. One VM alone is whole by itself.
 */
export function allReplicasCreated({ spec, instances }: Pick<PlacedJob, 'spec' | 'instances'>): boolean {
  return instances.length > 0 || replicasOf(spec).length === 1;
}

/** A job whose VM waits for capacity at Compute Engine. */
export type PendingJob = JobIn<'PREPARING'> & { readonly pendingUntil: TimestampMs };

export function isPending(job: Job): job is PendingJob {
  return job.status === 'PREPARING' && job.pendingUntil !== null;
}

/** From when on VMs may have been billed; null while there are none. */
export function billedSince(job: Job): TimestampMs | null {
  return isPlaced(job) && !isPending(job) ? job.placedAt : null;
}

export function replicaName({ role, index }: ReplicaId): string {
  return `${role}-${index}`;
}

/** The members of the job's cluster, the master first. */
export function replicasOf(spec: JobSpec): readonly ReplicaId[] {
  return spec.replicaGroups.flatMap(({ role, count }) =>
    Array.from({ length: count }, (_, index) => ({ role, index })),
  );
}
