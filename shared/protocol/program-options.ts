import { z } from 'zod';
import type { ProgramOptions } from '#shared/domain/job-spec.ts';

/**
 * The options of the program, in stored jobs and in a VM's configuration. All of them are optional: jobs and VMs of the
 * previous version lack the newest ones, and the agent has a default for each.
 */
export const programOptionsSchema = z.object({
  nice: z.int().min(0).max(19).optional(),
  environmentCache: z.boolean().optional(),
  metricsFromOutput: z.boolean().optional(),
}) satisfies z.ZodType<ProgramOptions>;
