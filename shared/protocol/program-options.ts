import * as z from 'zod';
import type { ProgramOptions } from '#shared/domain/job-spec.ts';

/**
 * The options of the program. All of them are optional in stored jobs, since those of the version before lack the
 * newest ones; a VM's configuration has each.
 */
export const programOptionsSchema = z.object({
  nice: z.int().min(0).max(19).optional(),
  environmentCache: z.boolean().optional(),
  metricsFromOutput: z.boolean().optional(),
}) satisfies z.ZodType<ProgramOptions>;

/** The options with what a job means that does not say it. */
export function withDefaults({ nice = 0, environmentCache = true, metricsFromOutput = false }: ProgramOptions) {
  return { nice, environmentCache, metricsFromOutput };
}
