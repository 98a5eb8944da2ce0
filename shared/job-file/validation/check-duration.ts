import { DAY_MS, parseDurationMs, suggestDuration } from '#shared/job-file/draft/duration.ts';
import type { Dialect } from '#shared/job-file/draft/job-draft.ts';
import { type Findings, type Located, locationOf, reportInvalid } from '#shared/job-file/parser/findings.ts';
import { quote } from '#shared/job-file/parser/record-findings.ts';

/** The duration in milliseconds, more than 0 and at most `maxMs`; null if there is none. */
export function checkDuration(
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
