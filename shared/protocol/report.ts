import * as z from 'zod';
import { jobViewSchema } from '#shared/protocol/job-view.ts';
import { problemSchema } from '#shared/protocol/problem.ts';

export const REPORT_SUFFIX = '.report.json';

/**
 * The report object that is written beside an upload: the verdict of intake, and then the state of the job. It
 * describes the newest upload with that name.
 */
export const reportSchema = z.object({
  verdict: z.enum(['ACCEPTED', 'REFUSED', 'WAITING']),
  source: z.string(),
  /** The generation of the upload; missing if the job was submitted by a message. */
  generation: z.string().regex(/^\d+$/).optional(),
  /** The `gs://` URI of the report on an earlier upload with this name. */
  earlierReport: z.string().optional(),
  jobId: z.string().nullable(),
  problems: z.array(problemSchema),
  warnings: z.array(problemSchema),
  job: jobViewSchema.nullable(),
});

export type Report = z.infer<typeof reportSchema>;
