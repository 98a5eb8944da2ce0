export const DAY_MS = 86_400_000;

/** Compute Engine deletes VMs after 120 days (`maxRunDuration`), of which booting and the final upload need a part. */
export const MAX_RUNNING_MS_MAX = 119 * DAY_MS;

/** A limit of Dropforge; for longer waits, an absent maxWait waits indefinitely. */
export const MAX_WAIT_MS_MAX = 365 * DAY_MS;

/** A limit of Dropforge; deployments allow less (`keep_on_failure_max`). */
export const KEEP_ON_FAILURE_MS_MAX = DAY_MS;

/** The JSON form of a protobuf Duration: seconds with up to nine digits after the point, and an `s`. */
const DURATION_PATTERN = /^(\d{1,12})(\.\d{1,9})?s$/;

const UNIT_SECONDS = {
  s: 1,
  sec: 1,
  m: 60,
  min: 60,
  h: 3_600,
  hr: 3_600,
  hours: 3_600,
  d: 86_400,
  days: 86_400,
} as const;

/** Milliseconds, rounded up; undefined if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = DURATION_PATTERN.exec(text);
  return match === null ? undefined : Math.ceil(Number(match[1]) * 1_000 + Number(match[2] ?? 0) * 1_000);
}

export function printDuration(ms: number): string {
  return `${ms / 1_000}s`;
}

/** The likely intended duration of a text such as `2h`, `30m` or `3600`; `3600s` if there is none. */
export function suggestDuration(text: string): string {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = (match?.[2] ?? '').toLowerCase() || 's';
  const seconds = Object.hasOwn(UNIT_SECONDS, unit) ? UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS] : undefined;
  return match === null || seconds === undefined ? '3600s' : `${Number(match[1]) * seconds}s`;
}
