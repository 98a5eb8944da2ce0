import * as z from 'zod';
import { decisiveFindingSchema } from '#shared/domain/health.ts';
import type { Stated } from '#shared/domain/stated.ts';

/** Why a replica ended, as its agent reports it. The control plane decides what follows. */
export const EXIT_REASONS = [
  /** The program exited by itself: see exitCode or signal. */
  'EXITED',
  /** The program was stopped because Compute Engine announced preemption or host maintenance. */
  'PREEMPTED',
  /** The agent stopped the program: a heartbeat returned STOP, or the VM was shut down. */
  'STOPPED',
  'MAX_RUNNING_TIME',
  'OUT_OF_MEMORY',
  'DISK_FULL',
  'PACKAGE_UNREADABLE',
  'INSTALL_FAILED',
  /** The registry rejected the image of the container, or the image is not the one that intake found. */
  'IMAGE_PULL_FAILED',
  /** The machine has no container engine, or it could not start the program of the image. */
  'CONTAINER_NOT_STARTED',
  'JOB_DIR_UNWRITABLE',
  /** A file that an earlier attempt saved cannot be read, or differs from what was saved. */
  'CHECKPOINT_UNREADABLE',
  /** The files that earlier attempts saved, or the image of the container, do not fit on the VM's disk. */
  'DISK_TOO_SMALL',
  /**
   * Cloud Storage, Secret Manager, the registry of the container's image or a host of packages returned no response, or
   * only transient errors, during setup.
   */
  'SERVICE_UNREACHABLE',
  'SECRET_UNAVAILABLE',
  /** The driver has fewer GPUs than the job requested, and all of them are on the VM's PCI bus. */
  'GPU_MISSING',
  /** A GPU is not on the PCI bus, or its driver reported a fault of the hardware. */
  'GPU_FAILED',
  /** The agent stopped the program for a finding about its health: see `health`. */
  'UNHEALTHY',
  /** An error in the agent itself. */
  'AGENT_FAILED',
] as const;

/** How a replica ended, as its agent reports it. */
export const exitReportSchema = z.object({
  reason: z.enum(EXIT_REASONS),
  exitCode: z.int().nullable(),
  signal: z.int().nullable(),
  /** One sentence. */
  message: z.string().max(2_000),
  /** The last lines of stderr or other evidence, the newest last. */
  evidence: z.array(z.string().max(2_000)).max(40),
  /** Present if the program has succeeded and the job directory has no file of it. */
  savedNothing: z.literal(true).optional(),
  /** With the reason SERVICE_UNREACHABLE: a host outside of Google, while Cloud Storage answered the VM. */
  unreachableHost: z.string().max(300).optional(),
  /** With the reason UNHEALTHY: the finding for which the agent stopped the program. */
  health: decisiveFindingSchema.optional(),
});
export type ExitFacts = Stated<typeof exitReportSchema>;
