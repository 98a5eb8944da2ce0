import { useLiveStatus } from '#dashboard/client/live.ts';

const TEXTS = {
  CONNECTING: 'Connecting',
  LIVE: 'Live',
  RECONNECTING: 'Reconnecting…',
  PAUSED: 'Paused',
} as const;

/** How current the page is. A lost connection is announced to screen readers. */
export function LiveIndicator() {
  const status = useLiveStatus();
  return (
    <span class={`live live-${status.toLowerCase()}`} role="status">
      <span class="live-dot" aria-hidden="true" />
      <span class="live-text">{TEXTS[status]}</span>
    </span>
  );
}
