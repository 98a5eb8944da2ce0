import { type HealthPolicy, STALLED_AFTER_MS_MAX, STALLED_AFTER_MS_MIN } from '#shared/domain/health.ts';
import { parseDurationMs } from '#shared/job-file/draft/duration.ts';
import type { JobDraft } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';

/** Reads the consequences of findings about the training; null if a value is not valid, which is reported. */
export function checkHealth({ health }: JobDraft, findings: Findings): HealthPolicy | null {
  const { stalledAfter, ...actions } = health;
  const policy = Object.fromEntries(Object.entries(actions).map(([name, action]) => [name, action?.value]));
  if (stalledAfter === undefined) {
    return policy;
  }
  const stalledAfterMs = parseDurationMs(stalledAfter.value);
  if (stalledAfterMs === undefined || stalledAfterMs < STALLED_AFTER_MS_MIN || stalledAfterMs > STALLED_AFTER_MS_MAX) {
    const limits = `${STALLED_AFTER_MS_MIN / 1_000} s to ${STALLED_AFTER_MS_MAX / 3_600_000} h`;
    const message = `${stalledAfter.path} must be a duration of ${limits}, but is ${quote(stalledAfter.value)}.`;
    reportInvalid(
      stalledAfter,
      { code: 'INVALID_DURATION', message, remedy: 'Write a duration such as 15m.' },
      findings,
    );
    return null;
  }
  return { ...policy, stalledAfterMs };
}
