import { useEffect, useRef } from 'preact/hooks';
import { type Changes, createLiveUpdates, type LiveStatus } from '#dashboard/client/live-updates.ts';
import { failuresInRow } from '#dashboard/client/request.ts';
import { useStore } from '#dashboard/store/use-store.ts';

const live = createLiveUpdates({
  openEvents: () => new EventSource('/v1/changes'),
  isVisible: () => document.visibilityState === 'visible',
  onVisibilityChange: (listener) => document.addEventListener('visibilitychange', listener),
  failuresInRow,
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
});

/** Starts following changes; call once, at the start. */
export function startLiveUpdates(): void {
  live.start();
}

export function useLiveStatus(): LiveStatus {
  return useStore(live.status);
}

/** The jobs whose changes a component follows; ALL for lists. */
export type Watched = readonly string[] | 'ALL';

/** Calls `onChange` when one of the jobs may have changed: its state, its newest values, its log. */
export function useLive(watched: Watched, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  const key = watched === 'ALL' ? 'ALL' : watched.join(',');
  useEffect(() => {
    const jobIds = key === 'ALL' ? 'ALL' : new Set(key.split(',').filter((id) => id !== ''));
    return live.subscribe((changes) => {
      if (isConcerned(jobIds, changes)) {
        latest.current();
      }
    });
  }, [key]);
}

function isConcerned(watched: ReadonlySet<string> | 'ALL', changes: Changes): boolean {
  if (watched === 'ALL' || changes === 'ALL') {
    return watched === 'ALL' || watched.size > 0;
  }
  return [...changes].some((jobId) => watched.has(jobId));
}
