import * as z from 'zod';
import { gitCommitSchema } from '#shared/domain/git-commit.ts';
import { jobTextSchema } from '#shared/domain/job-text.ts';
import type { Stated } from '#shared/domain/stated.ts';
import { parseJson } from '#shared/protocol/parse-json.ts';

/** A job with flags as `dropforge` sends it: JSON where a job file is uploaded or published. */
const sentJobSchema = z.strictObject({
  ...jobTextSchema.shape,
  jobId: z.string().optional(),
  git: gitCommitSchema.optional().catch(undefined),
});

export type SentJob = Stated<typeof sentJobSchema>;

/** A job file without flags, or a job as `dropforge` sends it. `fileName` is that of an upload or a message. */
export function readSentJob(
  bytes: Uint8Array,
  fileName: string,
): Omit<SentJob, 'jobFile'> & { readonly jobFile: Uint8Array | string | null } {
  const isJson = bytes[0] === '{'.charCodeAt(0);
  const sent = sentJobSchema.safeParse(isJson ? parseJson(Buffer.from(bytes).toString()) : undefined);
  return sent.success ? sent.data : { jobFile: bytes, fileName, command: 'jobs submit training', flags: [] };
}

export function formatSentJob(job: SentJob): string {
  return JSON.stringify(job);
}
