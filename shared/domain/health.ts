import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

/** The conditions that the agent notices in a training that runs (docs/health.md). */
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
  /** A folder of the working directory is over the limits of what is saved. */
  'OUTPUT_LEFT_OUT',
  /** A file that a process has open for writing all the time, so that no complete version of it can be saved. */
  'OUTPUT_UNSAVED',
] as const;
export type HealthCode = (typeof HEALTH_CODES)[number];

/**
 * The consequence of a finding. `restart`: a new attempt continues from the last checkpoint. `rollback`: from the last
 * one that was saved before the condition began. `ignore`: it is not reported either.
 */
export const HEALTH_ACTIONS = ['warn', 'stop', 'restart', 'rollback', 'ignore'] as const;
export type HealthAction = (typeof HEALTH_ACTIONS)[number];

/** By the name of its field in job files: the code, and the actions that it can have, the default first. */
export const HEALTH_FIELDS = {
  nonFinite: { code: 'NON_FINITE', actions: ['stop', 'warn', 'rollback', 'ignore'] },
  diverging: { code: 'DIVERGING', actions: ['warn', 'stop', 'ignore'] },
  plateau: { code: 'PLATEAU', actions: ['warn', 'ignore'] },
  stalled: { code: 'STALLED', actions: ['warn', 'restart', 'stop', 'ignore'] },
  gpuIdle: { code: 'GPU_IDLE', actions: ['warn', 'ignore'] },
  gpuMemoryLowUse: { code: 'GPU_MEMORY_LOW_USE', actions: ['warn', 'ignore'] },
  memoryNearFull: { code: 'MEMORY_NEAR_FULL', actions: ['warn', 'ignore'] },
  diskNearFull: { code: 'DISK_NEAR_FULL', actions: ['warn', 'ignore'] },
  inputBound: { code: 'INPUT_BOUND', actions: ['warn', 'ignore'] },
} as const satisfies Readonly<
  Record<string, { readonly code: HealthCode; readonly actions: readonly [HealthAction, ...HealthAction[]] }>
>;
export type HealthField = keyof typeof HEALTH_FIELDS;

export const STALLED_AFTER_MS_MIN = 10_000;
export const STALLED_AFTER_MS_MAX = 24 * 3_600_000;

/** By the name of the field of the job file. Object.fromEntries loses the names' type. */
const healthActionSchemas = Object.fromEntries(
  Object.entries(HEALTH_FIELDS).map(([name, { actions }]) => [name, z.enum([...actions]).optional()]),
) as unknown as {
  readonly [Field in HealthField]: z.ZodOptional<z.ZodType<(typeof HEALTH_FIELDS)[Field]['actions'][number]>>;
};

/** The part of a job file about health; a condition that it leaves out has the default. */
export const healthPolicySchema = z.object({
  ...healthActionSchemas,
  /** Replaces the time without activity that follows from the job's own pace. */
  stalledAfterMs: z.int().min(STALLED_AFTER_MS_MIN).max(STALLED_AFTER_MS_MAX).optional(),
});
export type HealthPolicy = Stated<typeof healthPolicySchema>;

/** The advice, with the numbers of this job. */
const remedy = z.string().max(500);

/** The finding for which an agent has ended its program. */
export const decisiveFindingSchema = z.object({
  code: z.enum(HEALTH_CODES),
  action: z.enum(['stop', 'restart', 'rollback']),
  remedy,
});
export type DecisiveFinding = Stated<typeof decisiveFindingSchema>;

/** Kept of one replica: each code has at most one finding. */
const HEALTH_EVIDENCE_LINES_MAX = 10;

/** A finding of one replica's agent: the newest of its code. */
export const healthFindingSchema = z.object({
  code: z.enum(HEALTH_CODES),
  /** The measurement, in one sentence. */
  message: z.string().max(500),
  remedy,
  /** Lines that show it, the newest last. */
  evidence: z.array(z.string().max(500)).max(HEALTH_EVIDENCE_LINES_MAX),
  /** When the condition began, in milliseconds since the epoch by the VM's clock. */
  since: z.int().min(0),
  /** When it ended; null while it lasts. */
  until: z.int().min(0).nullable(),
});
export type HealthFinding = Stated<typeof healthFindingSchema>;
