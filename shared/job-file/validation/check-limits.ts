import { type JobLimits, MAX_RUNNING_MS_DEFAULT } from '#shared/domain/job-spec.ts';
import { DAY_MS, MAX_RUNNING_MS_MAX, MAX_WAIT_MS_MAX, parseDurationMs } from '#shared/job-file/draft/duration.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, locationOf } from '#shared/job-file/parser/findings.ts';
import { checkDuration } from '#shared/job-file/validation/check-duration.ts';
import { checkKeeping } from '#shared/job-file/validation/check-keeping.ts';

/** custom_job.proto, Scheduling.max_wait_duration: Vertex AI's default with FLEX_START. */
const FLEX_START_WAIT_MS_DEFAULT = DAY_MS;

/** AI Platform's minimum (Scheduling.maxWaitTime); here a shorter time is valid and fails sooner. */
const AI_PLATFORM_MAX_WAIT_MS_MIN = 1_800_000;

/** The job's time limits and restarts; null if one of the times is invalid. */
export function checkLimits(draft: JobDraft, findings: Findings): JobLimits | null {
  const { dialect, maxRunningTime, maxWaitTime } = draft;
  const maxRunningMs = checkDuration(maxRunningTime, { dialect, maxMs: MAX_RUNNING_MS_MAX }, findings);
  const maxWaitMs = waitsIndefinitely(draft)
    ? null
    : checkDuration(maxWaitTime, { dialect, maxMs: MAX_WAIT_MS_MAX }, findings);
  const keepOnFailureMs = checkKeeping(draft, findings);
  if (maxRunningMs === 'INVALID' || maxWaitMs === 'INVALID' || keepOnFailureMs === null) {
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
    keepOnFailureMs,
  };
}

/** custom_job.proto, Scheduling.max_wait_duration: 0 waits indefinitely. */
function waitsIndefinitely({ dialect, maxWaitTime }: JobDraft): boolean {
  return dialect === 'vertex-ai' && maxWaitTime !== undefined && parseDurationMs(maxWaitTime.value) === 0;
}
