import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import { gitCommitSchema } from '#shared/domain/git-commit.ts';
import { historySchema } from '#shared/domain/history-entry.ts';
import { type JobSpec, jobSpecSchema, provisioningModelSchema, type ReplicaGroup } from '#shared/domain/job-spec.ts';
import { JOB_STATES, type JobState } from '#shared/domain/job-state.ts';
import { jobTextSchema } from '#shared/domain/job-text.ts';
import { packageLayoutSchema } from '#shared/domain/package-layout.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import type { Stated } from '#shared/domain/stated.ts';

/** Milliseconds since the Unix epoch. The domain reads no clock: times arrive inside events. */
export type TimestampMs = number;

const timestamp = z.int();
const nullableTimestamp = timestamp.nullable();
const count = z.int().min(0);
const nullableText = z.string().nullable();

/** Where an attempt runs. */
const placementSchema = z.object({
  zone: z.string(),
  provisioningModel: provisioningModelSchema,
  machineImage: z.string(),
});
export type Placement = Stated<typeof placementSchema>;

/** `us-central1-a` is a zone of `us-central1` (Compute Engine docs, "Regions and zones"). */
export function regionOf(zone: string): string {
  return zone.slice(0, zone.lastIndexOf('-'));
}

/** One member of a job's cluster. */
const replicaIdSchema = z.object({ role: z.enum(ROLES), index: count });
export type ReplicaId = Stated<typeof replicaIdSchema>;

/** A VM that Compute Engine has confirmed to exist. `instanceId` is assigned by Compute Engine and never reused. */
const instanceSchema = replicaIdSchema.extend({ vmName: z.string(), instanceId: z.string() });
export type Instance = Stated<typeof instanceSchema>;

/** A validated package, pinned to one generation: every attempt runs the same bytes. */
const packageRefSchema = z.object({
  uri: z.string(),
  generation: z.string(),
  /** Base64 of the big-endian CRC32C, as in Cloud Storage's object resource. */
  crc32c: z.string(),
  sizeBytes: z.number(),
  /** By the module of each program that has the package; missing in jobs that v0.1.0 accepted. */
  layouts: z.array(z.object({ module: z.string(), layout: packageLayoutSchema })).optional(),
});
export type PackageRef = Stated<typeof packageRefSchema>;

/** Where the job came from, and what distinguishes a repeated submission from a different one with the same job id. */
const jobSourceSchema = z.object({
  /** The upload's `gs://` URI, or the message's `pubsub://` URI. */
  uri: z.string(),
  /** Generation of the upload, or message id: equal for every delivery of one submission. */
  deliveryId: z.string(),
  /** Hexadecimal SHA-256 of job file and packages: equal when the same job is uploaded again. */
  digest: z.string(),
  /** The object that holds the report and, later, the job document. */
  reportUri: z.string(),
  /** E-mail address that a signature has proven; null for submissions that prove none. */
  submittedBy: nullableText.default(null),
  /** Null for submissions that state none, and in older records. */
  git: gitCommitSchema.nullable().default(null),
  /** Null for the job of a trial, whose tuning has it; for a text that is too long to be stored; and in older records. */
  text: jobTextSchema.nullable().default(null),
});
export type JobSource = Stated<typeof jobSourceSchema>;

/** A finding that does not prevent the job from running: what, where, and what to write instead. */
export const warningSchema = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z.string(),
  /** The field of the job file, `trainingInput.region`. */
  path: z.string().optional(),
  line: z.int().optional(),
});
export type Warning = Stated<typeof warningSchema>;

/** One entry of the ledger: how an attempt ended. */
const attemptRecordSchema = z.object({
  attempt: z.int(),
  zone: nullableText,
  provisioningModel: provisioningModelSchema.nullable(),
  /** Time from which VMs may have been billed; null if none were created. */
  placedAt: nullableTimestamp,
  ranAt: nullableTimestamp,
  endedAt: timestamp,
  cause: causeSchema.nullable(),
});
export type AttemptRecord = Stated<typeof attemptRecordSchema>;

export const ATTEMPT_RECORDS_MAX = 50;

/** How a job ends; decided before its VMs are deleted. */
export const verdictSchema = z.object({
  state: z.enum(['SUCCEEDED', 'FAILED', 'CANCELLED']),
  cause: causeSchema.nullable(),
  /** Set if the program was asked to end before its own end, and succeeded with what it had. */
  isStoppedEarly: z.literal(true).optional(),
});
export type Verdict = Stated<typeof verdictSchema>;

/** The tuning and the trial that a job belongs to. */
const trialRefSchema = z.object({
  tuningId: z.string(),
  /** From 1; as text, the trial's id. */
  ordinal: z.int().min(1),
  /** The metrics that the tuning needs: the agent reports their history, not only their last values. */
  metricIds: z.array(z.string()),
});
export type TrialRef = Stated<typeof trialRefSchema>;

/** The VM of a replica whose program failed, which stays for a look. */
const keptVmSchema = z.object({
  /** The name that is returned by `replicaName`. */
  replica: z.string(),
  vmName: z.string(),
  /** Null if Compute Engine's answer had not arrived when the program failed. */
  instanceId: nullableText,
  placement: placementSchema,
  since: timestamp,
  /** When it is deleted at the latest. */
  until: timestamp,
  /** When its deletion was decided, or its end was noticed; null while it is kept. */
  releasedAt: nullableTimestamp,
});
export type KeptVm = Stated<typeof keptVmSchema>;

/** A limit that the VMs of waiting jobs exceed together with those that exist. */
const waitedLimitSchema = z.object({
  metric: z.string(),
  /** The same as in QuotaLimit. */
  family: nullableText,
  limit: z.number(),
  /** Null if the limit is for all regions together. */
  region: nullableText,
  /** Whether the job waits behind others, and has not exceeded the limit itself. */
  isHeld: z.boolean(),
});
export type WaitedLimit = Stated<typeof waitedLimitSchema>;

const jobCountsSchema = z.object({
  interruptions: count,
  /** Interruptions since the last attempt that ran for at least STABLE_RUN_MS. */
  interruptionsInRow: count.default(0),
  /** Attempts in a row that ended because a VM never sent a heartbeat. */
  bootFailuresInRow: count.default(0),
  restarts: count,
  /** Placements in which Compute Engine could not create the VMs. */
  createFailures: count,
  /** Placement rounds in a row whose provision message became a dead letter before Compute Engine had answered. */
  deliveryFailuresInRow: count.default(0),
  /** VMs in a row that were created and deleted without the program having run: each is billed for a minute or more. */
  unusedVms: count.default(0),
});

/** The submission that intake has accepted, in jobs and in tunings; no event changes it. */
export const submissionFields = {
  spec: jobSpecSchema,
  packages: z.array(packageRefSchema),
  /** Zones that offer all machine types of this job, in order of preference. */
  zones: z.array(z.string()),
  source: jobSourceSchema,
  warnings: z.array(warningSchema).default([]),
  createdAt: timestamp,
};

/** The fields of a job in every status. */
export const commonShape = {
  ...submissionFields,
  jobId: z.string(),
  /** Null for a job that users submitted. */
  trial: trialRefSchema.nullable().default(null),
  /** Number of the current attempt, from 1: the fencing token that invalidates older attempts. */
  attempt: z.int().min(1),
  /** Placement round within this attempt, from 1. Messages of earlier rounds are stale. */
  placementRound: count,
  /** Zones that were tried without success since zone fallback last started from the first zone. */
  exhaustedZones: z.array(z.string()),
  firstRanAt: nullableTimestamp,
  /** Total time that earlier attempts were RUNNING, which counts against maxRunningTime. */
  ranMs: z.number().default(0),
  counts: jobCountsSchema,
  /** The last ATTEMPT_RECORDS_MAX attempts that have ended; only the newest keep their evidence. */
  ledger: z.array(attemptRecordSchema),
  /** Why the job is waiting, as shown to the user; null while it is not. */
  waitingFor: causeSchema.nullable(),
  /** When a quota was first exceeded that has been exceeded in every placement since; null if the last one was not. */
  quotaWaitSince: nullableTimestamp.default(null),
  /** When a service perimeter first denied a request; null if none has since the program last started. */
  deniedSince: nullableTimestamp.default(null),
  /** The limit that the VMs of this job or of those before it exceeded; null once its VMs exist. */
  waitsFor: waitedLimitSchema.nullable().default(null),
  /** Placements that have ended, but whose VMs may still exist: each counts against the limits as the current one does. */
  endedPlacements: count.default(0),
  /** The newest events, oldest first. Every event that changes the job is also a line of the log. */
  history: historySchema.default([]),
};

/** Every job that is not closed has a deadline, `wakeAt`, at which the reconciler re-checks it. */
const unfinished = { ...commonShape, wakeAt: timestamp };

/**
 * The failure of a replica's program, until it is known whether another replica was interrupted: the others fail when
 * they lose the connection to it.
 */
const heldFailureSchema = z.object({
  replica: z.string(),
  cause: causeSchema,
  /** When the program ended. */
  failedAt: timestamp,
  heldAt: timestamp,
  /** Whether the master has succeeded after this failure. */
  hasMasterSucceeded: z.boolean(),
});
export type HeldFailure = Stated<typeof heldFailureSchema>;

const placed = {
  ...unfinished,
  placement: placementSchema,
  /** Empty until Compute Engine has confirmed that all VMs of the attempt exist. */
  instances: z.array(instanceSchema),
  placedAt: timestamp,
  /** Set only for a cluster; `wakeAt` is then the next check on it. */
  heldFailure: heldFailureSchema.nullable().default(null),
};

/** Null if no VM was kept; `shownAs` is FAILED otherwise. */
const kept = keptVmSchema.nullable().default(null);

/**
 * A job, by the status that the control plane acts on. CLOSING: the verdict is final and the VMs are being deleted.
 * `stateOf` maps the status to the state that users see. A field with a default is missing in older records.
 */
export const jobSchema = z.discriminatedUnion('status', [
  z.object({
    ...unfinished,
    status: z.literal('QUEUED'),
    isBackingOff: z.boolean(),
    /** Whether its VMs are counted already: it falls back from a zone without VMs to the next one. */
    isAdmitted: z.boolean().default(false),
  }),
  z.object({
    ...placed,
    status: z.literal('PREPARING'),
    /** Time of the master's first heartbeat; null before. */
    reportedAt: nullableTimestamp.default(null),
    /** Until when the VM may wait for capacity at Compute Engine, unbilled; null if it is not waiting. */
    pendingUntil: nullableTimestamp.default(null),
    /** When it was found that some VMs of a cluster have started while others wait for capacity; null before. */
    assemblingSince: nullableTimestamp.default(null),
  }),
  z.object({
    ...placed,
    status: z.literal('RUNNING'),
    ranAt: timestamp,
    /** When the master reported that its program has exited and its outputs are being uploaded; null before. */
    uploadingAt: nullableTimestamp.default(null),
    /**
     * When the program was asked to end before its own end; null if it was not. Heartbeats are answered STOP, and the
     * job succeeds once its outputs are saved.
     */
    stopRequestedAt: nullableTimestamp.default(null),
  }),
  z.object({
    ...unfinished,
    status: z.literal('CLOSING'),
    verdict: verdictSchema,
    shownAs: z.enum(JOB_STATES),
    kept,
  }),
  z.object({ ...commonShape, status: z.literal('CLOSED'), verdict: verdictSchema, endedAt: timestamp, kept }),
]);
export type Job = Stated<typeof jobSchema>;

export type JobStatus = Job['status'];
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

/** The record of the current attempt, but for its end. */
export function currentAttemptOf(job: Job): Omit<AttemptRecord, 'endedAt' | 'cause'> {
  const placement = isPlaced(job) ? job.placement : null;
  return {
    attempt: job.attempt,
    zone: placement?.zone ?? null,
    provisioningModel: placement?.provisioningModel ?? null,
    placedAt: billedSince(job),
    ranAt: job.status === 'RUNNING' ? job.ranAt : null,
  };
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

/** The group of a kept VM, with a count of one. */
export function keptGroupOf({ spec }: Pick<Job, 'spec'>, { replica }: KeptVm): ReplicaGroup {
  const role = replicasOf(spec).find((each) => replicaName(each) === replica)?.role;
  return { ...(spec.replicaGroups.find((each) => each.role === role) ?? spec.replicaGroups[0]), count: 1 };
}
