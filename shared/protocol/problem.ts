import * as z from 'zod';

/** A problem or warning of a submission: what it is, where, and how to fix it. */
export const problemSchema = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z.string(),
  /** The field of the job file, `trainingInput.region`, or the entry of the archive. */
  path: z.string().optional(),
  line: z.int().optional(),
});

export type Problem = z.infer<typeof problemSchema>;
