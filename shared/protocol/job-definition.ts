import type { Warning } from '#shared/domain/job.ts';
import type { SentJob } from '#shared/protocol/job-text.ts';

/** `GET /v1/jobs/JOB/definition`: what the job runs, as its user wrote it. */
export type JobDefinition = {
  readonly jobId: string;
  /** The job file as the user wrote it; for a job that flags alone describe, the command. */
  readonly jobFile: string;
  readonly dialect: 'ai-platform' | 'vertex-ai' | 'dropforge';
  /** False if the text is not stored, and its replacement has no field for a part of the job. */
  readonly isComplete: boolean;
  /** The arguments of the master's program. */
  readonly args: readonly string[];
  /** The warnings that intake found in the submission. */
  readonly warnings: readonly Warning[];
  readonly packages: readonly { readonly uri: string; readonly sizeBytes: number }[];
  /** To run the same once more: under another id, in a job directory of its own. */
  readonly repetition: {
    readonly jobId: string;
    readonly jobFile: string;
    /** For a shell. */
    readonly command: string;
    /** For `POST /v1/jobs`. */
    readonly submission: SentJob & { readonly jobId: string };
  };
};
