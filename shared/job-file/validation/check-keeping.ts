import { KEEP_ON_FAILURE_MS_MAX, parseDurationMs } from '#shared/job-file/draft/duration.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { checkDuration } from '#shared/job-file/validation/check-duration.ts';

/**
 * How long the VM of a failed program is kept, in milliseconds; 0 if the job says nothing or 0, also where VMs cannot
 * be kept; null if it is invalid.
 */
export function checkKeeping(draft: JobDraft, findings: Findings): number | null {
  const { keepOnFailure, dialect, study, strategy } = draft;
  if (keepOnFailure === undefined || keepOnFailure.value === '0' || parseDurationMs(keepOnFailure.value) === 0) {
    return 0;
  }
  const ms = checkDuration(keepOnFailure, { dialect, maxMs: KEEP_ON_FAILURE_MS_MAX }, findings);
  const location = locationOf(keepOnFailure);
  if (study !== undefined) {
    findings.problems.push({
      code: 'KEPT_TRIAL',
      message: 'The VMs of trials are not kept: a tuning tries other values on its machines when a trial fails.',
      remedy: `Remove ${keepOnFailure.path}, and submit the values of a failed trial as a job of its own.`,
      ...location,
    });
  }
  if (strategy?.value === 'FLEX_START') {
    findings.problems.push({
      code: 'KEPT_FLEX_START',
      message: 'A VM with FLEX_START is not kept: its capacity is lent for the program only.',
      remedy: `Remove ${keepOnFailure.path}, or choose STANDARD or SPOT.`,
      ...location,
    });
  }
  return ms === 'INVALID' ? null : ms;
}
