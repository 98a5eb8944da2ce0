import type { ReplicaExit } from '#shared/domain/event.ts';
import type { TimestampMs } from '#shared/domain/job.ts';

/** What a replica is doing, as its agent says; WAITING is set up, and for the job's other machines. */
export const REPLICA_PHASES = [
  'BOOTING',
  'DOWNLOADING',
  'INSTALLING',
  'WAITING',
  'RUNNING',
  'UPLOADING',
  'EXITED',
] as const;
export type ReplicaPhase = (typeof REPLICA_PHASES)[number];

/** What the VM measured. Bytes, and fractions from 0 to 1; null where the machine does not tell. */
export type ReplicaUsage = {
  readonly cpuFraction: number | null;
  readonly memoryBytes: number | null;
  readonly memoryBytesMax: number | null;
  readonly diskBytes: number | null;
  readonly diskBytesMax: number | null;
  readonly gpus: readonly {
    readonly name: string;
    readonly busyFraction: number;
    readonly memoryBytes: number;
    readonly memoryBytesMax: number;
  }[];
};

/** The last values that the program reported, by name, with the step they belong to. */
export type ReplicaProgress = {
  readonly step: number | null;
  readonly stepsMax: number | null;
  readonly metrics: Readonly<Record<string, number>>;
};

/** What is known of a VM that has not spoken yet. */
export const NO_USAGE: ReplicaUsage = {
  cpuFraction: null,
  memoryBytes: null,
  memoryBytesMax: null,
  diskBytes: null,
  diskBytesMax: null,
  gpus: [],
};

export const NO_PROGRESS: ReplicaProgress = { step: null, stepsMax: null, metrics: {} };

/** A replica as its last heartbeat left it. Each heartbeat writes this record and no other. */
export type Replica = {
  readonly jobId: string;
  readonly attempt: number;
  readonly replica: string;
  readonly vmName: string;
  readonly instanceId: string;
  /** Grows with every heartbeat of the VM, across reboots; a lower number that comes later is out of date. */
  readonly sequence: number;
  readonly heardAt: TimestampMs;
  /** When the next heartbeat is due; null once the replica has exited or is no longer waited for. */
  readonly leaseExpiresAt: TimestampMs | null;
  /** When its lease had passed while others were heard; not there while it is not missed. */
  readonly missedAt?: TimestampMs;
  readonly phase: ReplicaPhase;
  readonly usage: ReplicaUsage;
  readonly progress: ReplicaProgress;
  readonly exit: ReplicaExit | null;
};
