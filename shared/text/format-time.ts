const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** A duration with its two largest units: `1 h 5 min`, `48 s`, `0.8 s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 10_000) {
    return `${Number((Math.max(0, durationMs) / 1_000).toFixed(1))} s`;
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

type Span = { readonly startTime: string | null; readonly endTime: string | null };

/** How long something ran, until now if it has no end; '' if it has not started. */
export function formatSpan({ startTime, endTime }: Span, nowMs: number): string {
  const endMs = endTime === null ? nowMs : Date.parse(endTime);
  return startTime === null ? '' : formatDuration(endMs - Date.parse(startTime));
}

/** How long a time was ago, in its largest unit: `3 min ago`. Never in the future: clocks of machines differ. */
export function formatAgo(time: string | number, nowMs: number): string {
  const agoMs = nowMs - new Date(time).getTime();
  const unit = UNITS.find(({ ms }) => agoMs >= ms);
  return unit === undefined ? 'just now' : `${Math.floor(agoMs / unit.ms)} ${unit.name} ago`;
}

/** `2026-11-21 06:44:49 UTC`. */
export function formatUtc(time: string | number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A time as relative and absolute: `3 min ago (2026-11-21 06:44:49 UTC)`. */
export function formatMoment(time: string, nowMs: number): string {
  return `${formatAgo(time, nowMs)} (${formatUtc(time)})`;
}

/** Hours and minutes in the time zone of this machine: `14:05`. */
export function formatClock(time: string): string {
  return new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}
