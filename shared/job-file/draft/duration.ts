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

/** Whole milliseconds, rounded up; undefined where the text is no duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = DURATION_PATTERN.exec(text);
  return match === null ? undefined : Math.ceil(Number(match[1]) * 1_000 + Number(match[2] ?? 0) * 1_000);
}

export function printDuration(ms: number): string {
  return `${ms / 1_000}s`;
}

/** What was probably meant by `2h`, `30m` or `3600`. */
export function suggestDuration(text: string): string {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]*)$/i.exec(text.trim());
  const unit = (match?.[2] ?? '').toLowerCase() || 's';
  const seconds = Object.hasOwn(UNIT_SECONDS, unit) ? UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS] : undefined;
  return match === null || seconds === undefined ? '3600s' : `${Number(match[1]) * seconds}s`;
}
