import type { JobText } from '#shared/domain/job-text.ts';
import { quoteForShell } from '#shared/text/quote-for-shell.ts';

type Command = Pick<JobText, 'command' | 'flags'> & {
  /** The operand of the command that has one; the others have the id in their display name. */
  readonly jobId: string | undefined;
  /** The name of the file with the text; undefined for flags alone. */
  readonly config: string | undefined;
};

/** The command line that submits a job, for a POSIX shell. */
export function formatCommand({ command, flags, jobId, config }: Command): string {
  const words = [
    ...(command === 'jobs submit training' && jobId !== undefined ? [jobId] : []),
    ...(config === undefined ? [] : ['--config', config]),
    ...flags,
  ];
  return ['dropforge', command, ...words.map(quoteForShell)].join(' ');
}
