import * as z from 'zod';
import { problemSchema } from '#shared/protocol/report.ts';

/** `GET /v1/jobs/JOB/definition`: what the job runs, as it was understood. */
export const jobDefinitionSchema = z.object({
  jobId: z.string(),
  /** YAML that reads as this job. */
  jobFile: z.string(),
  dialect: z.enum(['ai-platform', 'vertex-ai', 'dropforge']),
  /** False if no format has a field for a part of the job, which the file then lacks. */
  isComplete: z.boolean(),
  /** Of the master's program. */
  args: z.array(z.string()),
  /** What intake found in the submission. */
  warnings: z.array(problemSchema),
  packages: z.array(z.object({ uri: z.string(), sizeBytes: z.number() })),
  /** To run the same once more: under another id, in a job directory of its own. */
  repetition: z.object({ jobId: z.string(), jobFile: z.string(), command: z.string() }),
});

export type JobDefinition = z.infer<typeof jobDefinitionSchema>;
