import type { Job, Warning } from '#shared/domain/job.ts';
import { ACCEPTED_BYTES_MAX, jsonBytesOf, WARNINGS_BYTES_MAX } from '#shared/domain/job-size.ts';
import type { Problem } from '#shared/protocol/report.ts';

/**
 * The new job as the store can keep it for all its life, with as many of its warnings as have room; or why there is no
 * room for it.
 */
export function enforceSizeLimit<J extends Job>(job: J): { readonly job: J } | { readonly problem: Problem } {
  const fitting = { ...job, warnings: fitWarnings(job.warnings) };
  const sizeBytes = jsonBytesOf(fitting);
  if (sizeBytes <= ACCEPTED_BYTES_MAX) {
    return { job: fitting };
  }
  const message = `The job has ${sizeBytes} bytes with all its arguments, variables and packages; it may have ${ACCEPTED_BYTES_MAX}.`;
  const remedy = 'Put long arguments and values into a file in the bucket or in the package, and pass its name.';
  return { problem: { code: 'JOB_TOO_LARGE', message, remedy } };
}

function fitWarnings(warnings: readonly Warning[]): readonly Warning[] {
  if (jsonBytesOf(warnings) <= WARNINGS_BYTES_MAX) {
    return warnings;
  }
  const kept: Warning[] = [];
  const restOf = (count: number) => ({
    code: 'TOO_MANY_FINDINGS',
    message: `There are ${warnings.length - count} more warnings, for which there was no room.`,
    remedy: 'Heed those above and check the file again.',
  });
  for (const warning of warnings) {
    if (jsonBytesOf([...kept, warning, restOf(0)]) > WARNINGS_BYTES_MAX) {
      break;
    }
    kept.push(warning);
  }
  return [...kept, restOf(kept.length)];
}
