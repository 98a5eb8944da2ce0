import { z } from 'zod';
import { EXIT_REASONS } from '#shared/domain/exit-report.ts';
import { REPLICA_PHASES } from '#shared/domain/replica.ts';
import { SUPPORTED_PROTOCOLS } from '#shared/protocol/vm-config.ts';

const fraction = z.number().min(0).max(1);
const bytes = z.int().min(0);

const replicaExitReportSchema = z.object({
  reason: z.enum(EXIT_REASONS),
  exitCode: z.int().nullable(),
  signal: z.int().nullable(),
  /** One sentence. */
  message: z.string().max(2_000),
  /** The last lines of stderr or other evidence, the newest last. */
  evidence: z.array(z.string().max(2_000)).max(40),
});

/** The body of the agent's POST to the heartbeat function: at most 64 KiB of JSON. */
export const heartbeatSchema = z.object({
  protocol: z.literal(SUPPORTED_PROTOCOLS),
  jobId: z.string().min(1).max(128),
  attempt: z.int().min(1),
  role: z.enum(['master', 'worker', 'ps', 'evaluator']),
  index: z.int().min(0),
  /** Increases with every heartbeat of this VM, also across reboots. */
  sequence: z.int().min(1),
  phase: z.enum(REPLICA_PHASES),
  usage: z.object({
    /** Of all cores of the VM, over the last heartbeat interval. */
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
    metrics: z.record(z.string().max(128), z.number()),
  }),
  /** Not null exactly when the phase is EXITED. */
  exit: replicaExitReportSchema.nullable(),
});

/**
 * The heartbeat function's response. STOP: stop the program, save its outputs, report the exit, shut down. WAIT:
 * continue setup, but do not start the program, because not all VMs of the cluster are known to exist.
 */
export const heartbeatAnswerSchema = z.object({
  command: z.enum(['CONTINUE', 'WAIT', 'STOP']),
  reason: z.string().nullable(),
});

export type Heartbeat = z.infer<typeof heartbeatSchema>;
export type HeartbeatAnswer = z.infer<typeof heartbeatAnswerSchema>;
export type ReplicaExitReport = z.infer<typeof replicaExitReportSchema>;

export const HEARTBEAT_BYTES_MAX = 65_536;
