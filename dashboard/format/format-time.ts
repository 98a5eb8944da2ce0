const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `42s`, `3m 05s`, `2h 10m`, `4d 3h`: two units at most. */
export function formatDuration(ms: number): string {
  const rounded = Math.max(0, Math.round(ms / SECOND)) * SECOND;
  if (rounded < MINUTE) {
    return `${rounded / SECOND}s`;
  }
  if (rounded < HOUR) {
    return `${Math.floor(rounded / MINUTE)}m ${pad((rounded % MINUTE) / SECOND)}s`;
  }
  if (rounded < DAY) {
    return `${Math.floor(rounded / HOUR)}h ${pad(Math.floor((rounded % HOUR) / MINUTE))}m`;
  }
  return `${Math.floor(rounded / DAY)}d ${Math.floor((rounded % DAY) / HOUR)}h`;
}

/** `just now`, `5m ago`, `3h ago`, `12d ago`; the unit is the largest one. */
export function formatAge(ms: number): string {
  if (ms < MINUTE) {
    return 'just now';
  }
  if (ms < HOUR) {
    return `${Math.floor(ms / MINUTE)}m ago`;
  }
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)}h ago` : `${Math.floor(ms / DAY)}d ago`;
}

/** Date and time in the reader's language and time zone, with seconds: for titles of shorter forms. */
export function formatDateTime(time: string | number): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** Hours and minutes in the reader's language and time zone. */
export function formatClock(time: string): string {
  return new Date(time).toLocaleTimeString(undefined, { timeStyle: 'short' });
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
