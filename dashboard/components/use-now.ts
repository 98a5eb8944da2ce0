import { useEffect, useState } from 'preact/hooks';

/** Ages and durations are rendered again this often. */
const CLOCK_MS = 5_000;

/** The current time, and again every few seconds while it matters. */
export function useNow(isTicking = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isTicking) {
      return;
    }
    const timer = setInterval(() => setNow(Date.now()), CLOCK_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}
