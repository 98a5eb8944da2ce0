import type { Invocation } from '#cli/core/command.ts';
import type { SubmitCommand } from '#shared/domain/job-text.ts';
import { OVERRIDE_FLAGS } from '#shared/job-file/flags/apply-flags.ts';
import { writeFlags } from '#shared/job-file/flags/flag-list.ts';
import { readKmsKey } from '#shared/job-file/flags/flag-values.ts';

/** The flags of a command line that override the job file, with values that mean the same on any machine. */
export function writeOverrides(
  command: SubmitCommand,
  invocation: Invocation,
  replaced: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const key = readKmsKey(invocation.flag);
  return writeFlags(invocation, OVERRIDE_FLAGS[command], {
    'kms-key': key === undefined ? [] : [key],
    ...replaced,
  });
}
