import * as z from 'zod';
import { causeSchema } from '#shared/domain/cause.ts';
import { healthFindingSchema } from '#shared/domain/health.ts';
import type { Stated } from '#shared/domain/stated.ts';

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

const nullableNumber = z.number().nullable();
const timestamp = z.int();

/** The VM's measurements, in bytes and fractions from 0 to 1; null if the machine does not provide them. */
const usageSchema = z.object({
  cpuFraction: nullableNumber,
  memoryBytes: nullableNumber,
  memoryBytesMax: nullableNumber,
  diskBytes: nullableNumber,
  diskBytesMax: nullableNumber,
  gpus: z.array(
    z.object({ name: z.string(), busyFraction: z.number(), memoryBytes: z.number(), memoryBytesMax: z.number() }),
  ),
});
export type ReplicaUsage = Stated<typeof usageSchema>;

/** Numbers that JSON does not have, as text, as in the JSON form of Protocol Buffers. */
export const NON_FINITE_VALUES = ['NaN', 'Infinity', '-Infinity'] as const;

/** The last values that the program reported, by metric name, with their step. */
const progressSchema = z.object({
  step: nullableNumber,
  stepsMax: nullableNumber,
  /** Without metrics whose last value is not finite. */
  metrics: z.record(z.string(), z.number()),
  /** By metric, the first value that was not finite, with its step if the program reports steps. */
  nonFinite: z.record(z.string(), z.object({ value: z.enum(NON_FINITE_VALUES), step: nullableNumber })).optional(),
});
export type ReplicaProgress = Stated<typeof progressSchema>;

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

/** How a replica's program ended, as classified from its agent's report. */
const exitSchema = z.discriminatedUnion('outcome', [
  /** `savedNothing`: the job directory has no file of the program. */
  z.object({ outcome: z.literal('SUCCEEDED'), savedNothing: z.literal(true).optional() }),
  z.object({ outcome: z.literal('FAILED'), cause: causeSchema }),
]);
export type ReplicaExit = Stated<typeof exitSchema>;

/** Compute Engine ends the replica's VM. */
const noticeSchema = z.object({
  /** Whether the program is being stopped for it. */
  isStopping: z.boolean(),
  /** When the VM ends; null if that is unknown. */
  endsAt: timestamp.nullable(),
  message: z.string(),
});
export type InterruptionNotice = Stated<typeof noticeSchema>;

/** A replica's last heartbeat. Each heartbeat writes this record and no other. */
export const replicaSchema = z.object({
  jobId: z.string(),
  attempt: z.int(),
  replica: z.string(),
  vmName: z.string(),
  instanceId: z.string(),
  /** Increases with every heartbeat of the VM, across reboots. A lower number that arrives later is stale. */
  sequence: z.int().min(0),
  /** Time of the last heartbeat; until the first, time at which the VM was created. */
  heardAt: timestamp,
  /** When the next heartbeat is due; null once the replica has exited or its heartbeats no longer matter. */
  leaseExpiresAt: timestamp.nullable(),
  /** When its lease was found expired while other replicas were reporting; absent unless it is suspect. */
  suspectSince: timestamp.optional(),
  phase: z.enum(REPLICA_PHASES),
  usage: usageSchema.default(() => ({ ...NO_USAGE, gpus: [] })),
  progress: progressSchema.default(() => ({ ...NO_PROGRESS, metrics: {} })),
  exit: exitSchema.nullable(),
  /** The exit that follows when the outputs are saved; null before the program has ended, and with that exit. */
  pendingExit: exitSchema.nullable().default(null),
  /** When the program ended; null while it runs, and for agents that do not report it. */
  endedAt: timestamp.nullable().default(null),
  notice: noticeSchema.nullable().default(null),
  /** When the VM booted again; null in its first boot. */
  rebootedAt: timestamp.nullable().default(null),
  /** How often the VM has booted again in the attempt. */
  reboots: z.int().min(0).default(0),
  /** The exit code of the program, as a shell has it of one that a signal ended; null while it runs. */
  exitCode: z.int().nullable().default(null),
  /** The agent's findings about the training, at most one finding per code; those unknown here are left out. */
  health: z
    .array(healthFindingSchema.nullable().catch(null))
    .transform((findings) => findings.filter((finding) => finding !== null))
    .default([]),
});
export type Replica = Stated<typeof replicaSchema>;

/** The values of a replica that was not interrupted and has not ended. */
export const UNINTERRUPTED = {
  pendingExit: null,
  endedAt: null,
  notice: null,
  rebootedAt: null,
  reboots: 0,
  exitCode: null,
  health: [],
} as const;
