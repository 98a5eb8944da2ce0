import * as z from 'zod';
import { jobTextSchema } from '#shared/domain/job-text.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { problemSchema } from '#shared/protocol/problem.ts';

/** `GET /v1/jobs/JOB/definition`: what the job runs, as its user wrote it. */
export const jobDefinitionSchema = z.object({
  jobId: z.string(),
  /** The job file as the user wrote it; for a job that flags alone describe, the command. */
  jobFile: z.string(),
  dialect: z.enum(['ai-platform', 'vertex-ai', 'dropforge']),
  /** False if the text is not stored, and its replacement has no field for a part of the job. */
  isComplete: z.boolean(),
  /** The arguments of the master's program. */
  args: z.array(z.string()),
  /** The warnings that intake found in the submission. */
  warnings: z.array(problemSchema),
  packages: z.array(z.object({ uri: z.string(), sizeBytes: z.number() })),
  /** To run the same once more: under another id, in a job directory of its own. */
  repetition: z.object({
    jobId: z.string(),
    jobFile: z.string(),
    /** For a shell. */
    command: z.string(),
    /** For `POST /v1/jobs`. */
    submission: jobTextSchema.extend({ jobId: z.string() }),
  }),
});
export type JobDefinition = Stated<typeof jobDefinitionSchema>;
