import type { TimestampMs } from '#shared/domain/job.ts';

/** What the agent notices about a training that runs (docs/health.md). */
export const HEALTH_CODES = [
  /** A reported metric, or a loss in the log, is NaN or infinite. */
  'NON_FINITE',
  'DIVERGING',
  'PLATEAU',
  /** No log line, no metric and no device activity for longer than the job's own pace explains. */
  'STALLED',
  'GPU_IDLE',
  'MEMORY_NEAR_FULL',
  'GPU_MEMORY_LOW_USE',
  'DISK_NEAR_FULL',
  'INPUT_BOUND',
] as const;
export type HealthCode = (typeof HEALTH_CODES)[number];

/** Kept of one replica: each code has at most one finding. */
export const HEALTH_EVIDENCE_LINES_MAX = 10;

/** A finding of one replica's agent: the newest of its code. */
export type HealthFinding = {
  readonly code: HealthCode;
  /** What was measured, in one sentence. */
  readonly message: string;
  /** What to do, with the numbers of this job. */
  readonly remedy: string;
  /** Lines that show it, the newest last. */
  readonly evidence: readonly string[];
  /** When the condition began, by the VM's clock. */
  readonly since: TimestampMs;
  /** When it ended; null while it lasts. */
  readonly until: TimestampMs | null;
};
