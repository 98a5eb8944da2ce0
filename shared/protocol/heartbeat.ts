import * as z from 'zod';
import { exitReportSchema } from '#shared/domain/exit-report.ts';
import { HEALTH_CODES, healthFindingSchema } from '#shared/domain/health.ts';
import { NON_FINITE_VALUES, REPLICA_PHASES } from '#shared/domain/replica.ts';
import { ROLES } from '#shared/domain/replica-name.ts';
import type { Stated } from '#shared/domain/stated.ts';

/**
 * The version of heartbeats. A VM keeps the agent that it was created with, so heartbeats of the version before still
 * arrive after an update of the deployment. The version is incremented when a field is renamed, removed or becomes
 * required.
 */
export const PROTOCOL_VERSION = 2;

/** The versions that the heartbeat function accepts: the current one and the one before. */
const SUPPORTED_PROTOCOLS = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION] as const;

const fraction = z.number().min(0).max(1);
const bytes = z.int().min(0);

/** Compute Engine has announced the end of this VM. */
const interruptionNoticeSchema = z.object({
  /** Whether the program is being stopped for it; false while it still runs, long before the end. */
  isStopping: z.boolean(),
  /** Until the VM ends; null if that is unknown. */
  secondsLeft: z.number().min(0).nullable(),
  /** One sentence. */
  message: z.string().max(2_000),
});

/**
 * When the program ended, twice, since a VM's clock may be wrong: by that clock, in milliseconds since the epoch, and
 * as the time since then.
 */
const programEndSchema = z.object({ at: z.int().min(0), secondsAgo: z.number().min(0) });

/** A boot of this VM after its first, numbered from 1, and the time since then. */
const rebootSchema = z.object({ count: z.int().min(1), secondsAgo: z.number().min(0) });

/** The body of the agent's POST to the heartbeat function: at most 64 KiB of JSON. */
export const heartbeatSchema = z.object({
  protocol: z.literal(SUPPORTED_PROTOCOLS),
  jobId: z.string().min(1).max(128),
  attempt: z.int().min(1),
  role: z.enum(ROLES),
  index: z.int().min(0),
  /** Increases with every heartbeat of this VM, also across reboots. */
  sequence: z.int().min(1),
  phase: z.enum(REPLICA_PHASES),
  usage: z.object({
    /** The used share of all cores of the VM, over the last heartbeat interval. */
    cpuFraction: fraction.nullable(),
    memoryBytes: bytes.nullable(),
    memoryBytesMax: bytes.nullable(),
    diskBytes: bytes.nullable(),
    diskBytesMax: bytes.nullable(),
    gpus: z
      .array(z.object({ name: z.string().max(100), busyFraction: fraction, memoryBytes: bytes, memoryBytesMax: bytes }))
      .max(16),
  }),
  progress: z.object({
    step: z.number().nullable(),
    stepsMax: z.number().nullable(),
    /** The last values; a metric whose last value is not finite is missing. */
    metrics: z.record(z.string().max(128), z.number()),
    /** By metric, the first value that was not finite, which JSON cannot hold as a number. Missing if there is none. */
    nonFinite: z
      .record(z.string().max(128), z.object({ value: z.enum(NON_FINITE_VALUES), step: z.number().nullable() }))
      .optional(),
  }),
  /**
   * Only from the master of a trial: what the program reported of the study's metrics since the last heartbeat that was
   * answered, by increasing step; repeated until then.
   */
  measurements: z
    .array(
      z.object({
        step: z.number(),
        /** Running time of the program in this attempt. */
        elapsedMs: z.number().min(0),
        values: z.record(z.string().max(128), z.union([z.number(), z.enum(NON_FINITE_VALUES)])),
      }),
    )
    .max(50)
    .optional(),
  /** Not null exactly when the phase is EXITED. */
  exit: exitReportSchema.nullable(),
  /** Absent until Compute Engine announces the end of the VM; sent before the outputs are saved. */
  notice: interruptionNoticeSchema.optional(),
  /** Absent while the program has not ended. */
  programEnd: programEndSchema.optional(),
  /** The exit that follows when the outputs are saved; absent before the program has ended, and with the exit. */
  pendingExit: exitReportSchema.optional(),
  /** Absent in the first boot. */
  reboot: rebootSchema.optional(),
  /** The agent's findings about the training; absent if nothing. One finding per code, the newest. */
  health: z.array(healthFindingSchema).max(HEALTH_CODES.length).optional(),
});

/**
 * The heartbeat function's response. STOP: stop the program, save its outputs, report the exit, shut down. WAIT:
 * continue setup, but do not start the program, because not all VMs of the cluster are known to exist.
 */
export const heartbeatAnswerSchema = z.object({
  command: z.enum(['CONTINUE', 'WAIT', 'STOP']),
  reason: z.string().nullable(),
  /** With STOP: the job goes on to succeed, so that its outputs are saved as after a program that ended by itself. */
  isEarlyStop: z.literal(true).optional(),
  /** With STOP, after an exit: for how long the VM stays for a look, unless a later answer says less. */
  keepSeconds: z.number().positive().optional(),
  /** With CONTINUE and WAIT, in a cluster: the secret with which the agents of the attempt speak to each other. */
  peerSecret: z.string().length(64).optional(),
});

export type Heartbeat = Stated<typeof heartbeatSchema>;
export type HeartbeatAnswer = Stated<typeof heartbeatAnswerSchema>;

export const HEARTBEAT_BYTES_MAX = 65_536;
