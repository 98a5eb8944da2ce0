import type { ReplicaExit } from '#shared/domain/event.ts';
import type { HealthFinding } from '#shared/domain/health.ts';
import type { TimestampMs } from '#shared/domain/job.ts';

/**
 * Phases that an agent reports. PULLING: the image of its container is downloaded. WAITING: setup is done, and the
 * job's other VMs are not all confirmed yet.
 */
export const REPLICA_PHASES = [
  'BOOTING',
  'DOWNLOADING',
  'PULLING',
  'INSTALLING',
  'WAITING',
  'RUNNING',
  'UPLOADING',
  'EXITED',
] as const;
export type ReplicaPhase = (typeof REPLICA_PHASES)[number];

/** The VM's measurements, in bytes and fractions from 0 to 1; null if the machine does not provide them. */
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

/** Numbers that JSON does not have, as text, as in the JSON form of Protocol Buffers. */
export const NON_FINITE_VALUES = ['NaN', 'Infinity', '-Infinity'] as const;
export type NonFiniteValue = (typeof NON_FINITE_VALUES)[number];

/** The last values that the program reported, by metric name, with their step. */
export type ReplicaProgress = {
  readonly step: number | null;
  readonly stepsMax: number | null;
  /** Without metrics whose last value is not finite. */
  readonly metrics: Readonly<Record<string, number>>;
  /** By metric, the first value that was not finite, with its step if the program reports steps. */
  readonly nonFinite?:
    | Readonly<Record<string, { readonly value: NonFiniteValue; readonly step: number | null }>>
    | undefined;
};

/** Usage of a VM that has not sent a heartbeat yet. */
export const NO_USAGE: ReplicaUsage = {
  cpuFraction: null,
  memoryBytes: null,
  memoryBytesMax: null,
  diskBytes: null,
  diskBytesMax: null,
  gpus: [],
};

export const NO_PROGRESS: ReplicaProgress = { step: null, stepsMax: null, metrics: {} };

/** Compute Engine ends the replica's VM. */
export type InterruptionNotice = {
  /** Whether the program is being stopped for it. */
  readonly isStopping: boolean;
  /** When the VM ends; null if that is unknown. */
  readonly endsAt: TimestampMs | null;
  readonly message: string;
};

/** A replica's last heartbeat. Each heartbeat writes this record and no other. */
export type Replica = {
  readonly jobId: string;
  readonly attempt: number;
  readonly replica: string;
  readonly vmName: string;
  readonly instanceId: string;
  /** Increases with every heartbeat of the VM, across reboots. A lower number that arrives later is stale. */
  readonly sequence: number;
  /** Time of the last heartbeat; until the first, time at which the VM was created. */
  readonly heardAt: TimestampMs;
  /** When the next heartbeat is due; null once the replica has exited or its heartbeats no longer matter. */
  readonly leaseExpiresAt: TimestampMs | null;
  /** When its lease was found expired while other replicas were reporting; absent unless it is suspect. */
  readonly suspectSince?: TimestampMs;
  readonly phase: ReplicaPhase;
  readonly usage: ReplicaUsage;
  readonly progress: ReplicaProgress;
  readonly exit: ReplicaExit | null;
  /** The exit that follows when the outputs are saved; null before the program has ended, and with that exit. */
  readonly pendingExit: ReplicaExit | null;
  /** When the program ended; null while it runs, and for agents that do not report it. */
  readonly endedAt: TimestampMs | null;
  readonly notice: InterruptionNotice | null;
  /** When the VM booted again; null in its first boot. */
  readonly rebootedAt: TimestampMs | null;
  /** What the agent noticed about the training, at most one finding per code. */
  readonly health: readonly HealthFinding[];
};

/** The values of a replica that was not interrupted and has not ended. */
export const UNINTERRUPTED = {
  pendingExit: null,
  endedAt: null,
  notice: null,
  rebootedAt: null,
  health: [],
} as const;
