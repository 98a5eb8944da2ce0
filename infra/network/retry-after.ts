/** When to ask again, in milliseconds from now: seconds, or a date (RFC 9110, "Retry-After"); null if missing or invalid. */
export function readRetryAfterMs(header: string | null | undefined, now = Date.now()): number | null {
  const seconds = Number(header || Number.NaN);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header ?? '') - now;
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
