import type { ProgramOptions } from '#shared/domain/job-spec.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';

/** The options that the file sets; their limits are checked as they are read. */
export function programOptionsOf({ programOptions }: JobDraft): ProgramOptions {
  return Object.fromEntries(Object.entries(programOptions).map(([name, option]) => [name, option?.value]));
}
