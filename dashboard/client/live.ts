import { useEffect, useRef } from 'preact/hooks';
import { createLiveUpdates, type LiveChanges, type LiveStatus, type Watched } from '#dashboard/client/live-updates.ts';
import { send } from '#dashboard/client/request.ts';
import { useStore } from '#dashboard/store/use-store.ts';

const live = createLiveUpdates({
  async poll({ marker, jobId }) {
    const query = new URLSearchParams({
      ...(marker !== null && { since: marker }),
      ...(jobId !== null && { job: jobId }),
    });
    return (await send(`/v1/changes?${query}`, { cache: 'no-store' })).json();
  },
  isVisible: () => document.visibilityState === 'visible',
  onVisibilityChange: (listener) => document.addEventListener('visibilitychange', listener),
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

/** Follows the changes of the watched jobs; calls `onPoll` after each poll, with those of all jobs that it found. */
export function useLive(watched: Watched, onPoll: (changes: LiveChanges) => void): void {
  const latest = useRef(onPoll);
  latest.current = onPoll;
  const key = watched === 'ALL' ? 'ALL' : watched.join(',');
  useEffect(() => {
    const followed = key === 'ALL' ? 'ALL' : key.split(',').filter((id) => id !== '');
    return live.subscribe(followed, (changes) => latest.current(changes));
  }, [key]);
}
