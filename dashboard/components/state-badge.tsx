const TONES: Readonly<Record<string, string>> = {
  QUEUED: 'waiting',
  PREPARING: 'starting',
  RUNNING: 'running',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  CANCELLING: 'cancelled',
  CANCELLED: 'cancelled',
};

/** A job's state: its color, and its name as text for those who do not see the color. */
export function StateBadge({ state }: { readonly state: string }) {
  const name = state.charAt(0) + state.slice(1).toLowerCase();
  return (
    <span class={`badge badge-${TONES[state] ?? 'waiting'}`}>
      <span class="badge-dot" aria-hidden="true" />
      {name}
    </span>
  );
}
