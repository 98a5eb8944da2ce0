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
  workdir: z.string().optional(),
  workdirOutputs: z.boolean().optional(),
  outputs: z.array(z.string().min(1)).optional(),
  resumeArguments: z.array(z.string()).optional(),
}) satisfies z.ZodType<ProgramOptions>;

/** The options with what a job means that does not say it. */
export function withDefaults(options: ProgramOptions) {
  const { nice = 0, environmentCache = true, metricsFromOutput = null, workdir = '', workdirOutputs = true } = options;
  const lists = { outputs: [...(options.outputs ?? [])], resumeArguments: [...(options.resumeArguments ?? [])] };
  return { nice, environmentCache, metricsFromOutput, workdir, workdirOutputs, ...lists };
}
