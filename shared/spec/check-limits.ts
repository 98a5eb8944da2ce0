import { type JobLimits, MAX_RUNNING_MS_DEFAULT } from '#shared/domain/job-spec.ts';
import { parseDurationMs, suggestDuration } from '#shared/spec/duration.ts';
import { type Findings, type Located, placeOf } from '#shared/spec/findings.ts';
import type { JobDraft } from '#shared/spec/job-draft.ts';

const DAY_MS = 86_400_000;

/** Compute Engine deletes a VM after 120 days at the latest (`maxRunDuration`); boot and the last words need a part of it. */
const MAX_RUNNING_MS_MAX = 119 * DAY_MS;

/** A year: whoever waits longer means to wait without end, which is what saying nothing does. */
const MAX_WAIT_MS_MAX = 365 * DAY_MS;

/** AI Platform's least (Scheduling.maxWaitTime); here a shorter one only means giving up sooner. */
const MAX_WAIT_MS_USUAL_MIN = 1_800_000;

/** The job's time limits; null where one of them is wrong, which is then among the findings. */
export function checkLimits({ maxRunningTime, maxWaitTime }: JobDraft, findings: Findings): JobLimits | null {
  const maxRunningMs = checkDuration(maxRunningTime, MAX_RUNNING_MS_MAX, findings);
  const maxWaitMs = checkDuration(maxWaitTime, MAX_WAIT_MS_MAX, findings);
  if (maxWaitTime !== undefined && typeof maxWaitMs === 'number' && maxWaitMs < MAX_WAIT_MS_USUAL_MIN) {
    const message = `${maxWaitTime.path} is shorter than 1800s, the least that AI Platform takes: the job may give up early.`;
    findings.warnings.push({
      code: 'SHORT_MAX_WAIT_TIME',
      message,
      remedy: 'Write 1800s or more, unless that is meant.',
      ...placeOf(maxWaitTime),
    });
  }
  if (maxRunningMs === 'WRONG' || maxWaitMs === 'WRONG') {
    return null;
  }
  return { maxRunningMs: maxRunningMs ?? MAX_RUNNING_MS_DEFAULT, maxWaitMs, restartsMax: 0 };
}

function checkDuration(
  written: Located<string> | undefined,
  maxMs: number,
  findings: Findings,
): number | null | 'WRONG' {
  if (written === undefined) {
    return null;
  }
  const ms = parseDurationMs(written.value);
  if (ms === undefined) {
    const message = `${written.path} is no duration: "${written.value}".`;
    const remedy = `Write seconds with an s, as ${suggestDuration(written.value)}.`;
    findings.problems.push({ code: 'INVALID_DURATION', message, remedy, ...placeOf(written) });
    return 'WRONG';
  }
  if (ms === 0 || ms > maxMs) {
    const message = `${written.path} must be more than 0s and at most ${maxMs / 1_000}s (${maxMs / DAY_MS} days), but is ${written.value}.`;
    findings.problems.push({
      code: 'INVALID_DURATION',
      message,
      remedy: 'Write a duration between the two.',
      ...placeOf(written),
    });
    return 'WRONG';
  }
  return ms;
}
