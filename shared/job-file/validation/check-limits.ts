import { type JobLimits, MAX_RUNNING_MS_DEFAULT } from '#shared/domain/job-spec.ts';
import {
  MAX_RUNNING_MS_MAX,
  MAX_WAIT_MS_MAX,
  parseDurationMs,
  suggestDuration,
} from '#shared/job-file/draft/duration.ts';
import type { Dialect, JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { JOB_FIELDS } from '#shared/job-file/formats/dropforge/fields.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';

const DAY_MS = 86_400_000;

/** custom_job.proto, Scheduling.max_wait_duration: Vertex AI's default with FLEX_START. */
const FLEX_START_WAIT_MS_DEFAULT = DAY_MS;

/** AI Platform's minimum (Scheduling.maxWaitTime); here a shorter time is valid and fails sooner. */
const AI_PLATFORM_MAX_WAIT_MS_MIN = 1_800_000;

/** The job's time limits and restarts; null if one of them is invalid. */
export function checkLimits(draft: JobDraft, findings: Findings): JobLimits | null {
  const { dialect, maxRunningTime, maxWaitTime } = draft;
  const maxRunningMs = checkDuration(maxRunningTime, { dialect, maxMs: MAX_RUNNING_MS_MAX }, findings);
  const maxWaitMs = waitsIndefinitely(draft)
    ? null
    : checkDuration(maxWaitTime, { dialect, maxMs: MAX_WAIT_MS_MAX }, findings);
  const areRestartsValid = JOB_FIELDS.retries.check(draft, findings);
  if (maxRunningMs === 'INVALID' || maxWaitMs === 'INVALID' || !areRestartsValid) {
    return null;
  }
  if (dialect === 'ai-platform' && maxWaitTime !== undefined && (maxWaitMs ?? 0) < AI_PLATFORM_MAX_WAIT_MS_MIN) {
    findings.warnings.push({
      code: 'SHORT_MAX_WAIT_TIME',
      message: `${maxWaitTime.path} is shorter than 1800s, AI Platform's minimum: the job may stop waiting too early.`,
      remedy: 'Write 1800s or more, unless this is intended.',
      ...locationOf(maxWaitTime),
    });
  }
  const isFlexStartDefault =
    dialect === 'vertex-ai' && maxWaitTime === undefined && draft.strategy?.value === 'FLEX_START';
  return {
    maxRunningMs: maxRunningMs ?? MAX_RUNNING_MS_DEFAULT,
    maxWaitMs: isFlexStartDefault ? FLEX_START_WAIT_MS_DEFAULT : maxWaitMs,
    restartsMax: draft.restartsMax?.value ?? 0,
  };
}

/** custom_job.proto, Scheduling.max_wait_duration: 0 waits indefinitely. */
function waitsIndefinitely({ dialect, maxWaitTime }: JobDraft): boolean {
  return dialect === 'vertex-ai' && maxWaitTime !== undefined && parseDurationMs(maxWaitTime.value) === 0;
}

function checkDuration(
  given: Located<string> | undefined,
  { dialect, maxMs }: { readonly dialect: Dialect; readonly maxMs: number },
  findings: Findings,
): number | null | 'INVALID' {
  if (given === undefined) {
    return null;
  }
  const ms = parseDurationMs(given.value);
  if (ms === undefined) {
    const message = `${given.path} is not a valid duration: ${quote(given.value)}.`;
    const seconds = `Write seconds followed by "s", such as ${suggestDuration(given.value)}.`;
    const remedy = dialect === 'dropforge' ? 'Write a duration such as 12h, 90m or 2d.' : seconds;
    reportInvalid(given, { code: 'INVALID_DURATION', message, remedy }, findings);
    return 'INVALID';
  }
  if (ms === 0 || ms > maxMs) {
    const most = `${maxMs / 1_000}s (${maxMs / DAY_MS} days)`;
    const message = `${given.path} must be more than 0s and at most ${most}, but is ${given.value}.`;
    const remedy = 'Write a duration in this range.';
    findings.problems.push({ code: 'INVALID_DURATION', message, remedy, ...locationOf(given) });
    return 'INVALID';
  }
  return ms;
}
