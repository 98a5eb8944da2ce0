import * as z from 'zod';
import type { Stated } from '#shared/domain/stated.ts';

/** The commands that submit jobs; each has the name and the flags of one of gcloud's. */
export const SUBMIT_COMMANDS = ['jobs submit training', 'custom-jobs create', 'hp-tuning-jobs create'] as const;

export type SubmitCommand = (typeof SUBMIT_COMMANDS)[number];

/** A job as its user wrote it: the text of a job file, and the flags of a command, which override the file. */
export const jobTextSchema = z.object({
  /** Null for a job that flags alone describe. */
  jobFile: z.string().nullable(),
  /** Without its folder, for messages: `job.yaml`. */
  fileName: z.string(),
  command: z.enum(SUBMIT_COMMANDS),
  /** `--region=us-central1`, or `--enable-web-access`; what follows `--` are arguments of the program. */
  flags: z.array(z.string()),
});
export type JobText = Stated<typeof jobTextSchema>;
