import { type JobLimits, MAX_RUNNING_MS_DEFAULT } from '#shared/domain/job-spec.ts';
import { parseDurationMs, suggestDuration } from '#shared/job-file/draft/duration.ts';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';

const DAY_MS = 86_400_000;

/**
 * Compute Engine deletes a VM after 120 days at the latest (`maxRunDuration`); boot and the last words need a part of
 * it.
 */
const MAX_RUNNING_MS_MAX = 119 * DAY_MS;

/** A year: whoever waits longer means to wait without end, which is what saying nothing does. */
const MAX_WAIT_MS_MAX = 365 * DAY_MS;

/** custom_job.proto, Scheduling.max_wait_duration: how long Vertex AI waits for FLEX_START when nothing is said. */
const FLEX_START_WAIT_MS_DEFAULT = DAY_MS;

/** AI Platform's least (Scheduling.maxWaitTime); here a shorter one only means giving up sooner. */
const MAX_WAIT_MS_USUAL_MIN = 1_800_000;

/** A limit of our own: a program that has failed a hundred times will fail again. */
const RESTARTS_COUNT_MAX = 100;

/** The job's time limits and restarts; null where one of them is wrong, which is then among the findings. */
export function checkLimits(draft: JobDraft, findings: Findings): JobLimits | null {
  const { dialect, maxRunningTime, maxWaitTime } = draft;
  const maxRunningMs = checkDuration(maxRunningTime, { dialect, maxMs: MAX_RUNNING_MS_MAX }, findings);
  const maxWaitMs = isEndlessWait(draft)
    ? null
    : checkDuration(maxWaitTime, { dialect, maxMs: MAX_WAIT_MS_MAX }, findings);
  const restartsMax = checkRestarts(draft, findings);
  if (maxRunningMs === 'WRONG' || maxWaitMs === 'WRONG' || restartsMax === 'WRONG') {
    return null;
  }
  if (dialect === 'ai-platform' && maxWaitTime !== undefined && (maxWaitMs ?? 0) < MAX_WAIT_MS_USUAL_MIN) {
    findings.warnings.push({
      code: 'SHORT_MAX_WAIT_TIME',
      message: `${maxWaitTime.path} is shorter than 1800s, the least that AI Platform takes: the job may give up early.`,
      remedy: 'Write 1800s or more, unless that is meant.',
      ...locationOf(maxWaitTime),
    });
  }
  const isShortOfWait = dialect === 'vertex-ai' && maxWaitTime === undefined && draft.strategy?.value === 'FLEX_START';
  return {
    maxRunningMs: maxRunningMs ?? MAX_RUNNING_MS_DEFAULT,
    maxWaitMs: isShortOfWait ? FLEX_START_WAIT_MS_DEFAULT : maxWaitMs,
    restartsMax,
  };
}

/** custom_job.proto, Scheduling.max_wait_duration: 0 waits without end. */
function isEndlessWait({ dialect, maxWaitTime }: JobDraft): boolean {
  return dialect === 'vertex-ai' && maxWaitTime !== undefined && parseDurationMs(maxWaitTime.value) === 0;
}

function checkRestarts({ restartsMax }: JobDraft, findings: Findings): number | 'WRONG' {
  if (restartsMax === undefined || (restartsMax.value >= 0 && restartsMax.value <= RESTARTS_COUNT_MAX)) {
    return restartsMax?.value ?? 0;
  }
  const message = `${restartsMax.path} must be 0 to ${RESTARTS_COUNT_MAX}, but is ${restartsMax.value}.`;
  findings.problems.push({
    code: 'INVALID_RESTARTS',
    message,
    remedy: 'Write how often a program that has failed is started again.',
    ...locationOf(restartsMax),
  });
  return 'WRONG';
}

function checkDuration(
  written: Located<string> | undefined,
  { dialect, maxMs }: { readonly dialect: Dialect; readonly maxMs: number },
  findings: Findings,
): number | null | 'WRONG' {
  if (written === undefined) {
    return null;
  }
  const ms = parseDurationMs(written.value);
  if (ms === undefined) {
    const message = `${written.path} is no duration: ${quote(written.value)}.`;
    const seconds = `Write seconds with an s, as ${suggestDuration(written.value)}.`;
    const remedy = dialect === 'dropforge' ? 'Write a duration such as 12h, 90m or 2d.' : seconds;
    reportInvalid(written, { code: 'INVALID_DURATION', message, remedy }, findings);
    return 'WRONG';
  }
  if (ms === 0 || ms > maxMs) {
    const most = `${maxMs / 1_000}s (${maxMs / DAY_MS} days)`;
    const message = `${written.path} must be more than 0s and at most ${most}, but is ${written.value}.`;
    const remedy = 'Write a duration between the two.';
    findings.problems.push({ code: 'INVALID_DURATION', message, remedy, ...locationOf(written) });
    return 'WRONG';
  }
  return ms;
}
