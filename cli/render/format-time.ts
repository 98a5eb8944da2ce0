const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** The two largest units of a length of time: `1 h 5 min`, `48 s`, `0.8 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 10_000) {
    return `${(durationMs / 1_000).toFixed(1)} s`;
  }
  const roundedMs = Math.round(durationMs / 1_000) * 1_000;
  const first = UNITS.findIndex(({ ms }) => roundedMs >= ms);
  let restMs = roundedMs;
  const parts = UNITS.slice(first, first + 2).map(({ name, ms }) => {
    const count = Math.floor(restMs / ms);
    restMs -= count * ms;
    return count === 0 ? '' : `${count} ${name}`;
  });
  return parts.filter(Boolean).join(' ');
}

/** A moment both ways, for people: `3 min ago (2026-11-21 06:44:49 UTC)`. */
export function formatMoment(time: string, nowMs: number): string {
  return `${formatAgo(time, nowMs)} (${formatUtc(time)})`;
}

export function formatAgo(time: string, nowMs: number): string {
  const agoMs = nowMs - Date.parse(time);
  // The clocks of two machines are never quite together.
  return agoMs < 1_000 ? 'just now' : `${formatDuration(agoMs)} ago`;
}

export function formatUtc(time: string): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
