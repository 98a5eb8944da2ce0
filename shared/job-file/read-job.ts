import type { GitCommit } from '#shared/domain/git-commit.ts';
import type { JobText, SubmitCommand } from '#shared/domain/job-text.ts';
import { EMPTY_DRAFT, fieldPath, type JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { applyFlags } from '#shared/job-file/flags/apply-flags.ts';
import { InvalidFlagError } from '#shared/job-file/flags/flag-list.ts';
import { decodeJobFile } from '#shared/job-file/parser/parse-source.ts';
import { type JobFileReading, readJobFile } from '#shared/job-file/read-job-file.ts';

/** A job to read: the text of its file as bytes, if nothing has decoded it yet. */
export type JobToRead = Omit<JobText, 'jobFile'> & {
  readonly jobFile: string | Uint8Array | null;
  /** Replaces the job id of the file. */
  readonly jobId?: string | undefined;
  readonly git?: GitCommit | undefined;
};

/** Reads a job file and applies its flags. Never throws: an invalid flag is among the problems, without a draft. */
export function readJob(job: JobToRead): JobFileReading {
  const reading = job.jobFile === null ? emptyReadingOf(job.command) : readJobFile(job.jobFile, job);
  if (reading.draft === null) {
    return reading;
  }
  try {
    return { ...reading, draft: overrideDraft(reading.draft, job) };
  } catch (error) {
    if (error instanceof InvalidFlagError) {
      const problem = { code: 'INVALID_FLAG', message: error.message, remedy: 'Correct the flag, and submit again.' };
      return { ...reading, draft: null, problems: [...reading.problems, problem] };
    }
    throw error;
  }
}

/** The draft of a file with a job id and flags, which override it. Throws InvalidFlagError. */
export function overrideDraft(draft: JobDraft, { jobId, command, flags }: Omit<JobToRead, 'jobFile' | 'fileName'>) {
  const changed = applyFlags(draft, { command, flags });
  return jobId === undefined
    ? changed
    : { ...changed, jobId: { value: jobId, path: fieldPath(draft.dialect, 'jobId') } };
}

/** The text as it is stored. */
export function jobTextOf({ jobFile, fileName, command, flags }: JobToRead): JobText {
  return { jobFile: jobFile === null ? null : decodeJobFile(jobFile), fileName, command, flags };
}

/** The reading that flags override if there is no job file. */
export function emptyReadingOf(command: SubmitCommand): JobFileReading {
  const dialect = command === 'jobs submit training' ? EMPTY_DRAFT.dialect : 'vertex-ai';
  return { draft: { ...EMPTY_DRAFT, dialect }, problems: [], warnings: [], unsupported: [] };
}
