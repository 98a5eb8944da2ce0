import { useEffect, useState } from 'preact/hooks';
import type { ProfileView } from '#shared/protocol/profile-view.ts';

const TICK_MS = 500;

/** A profile that waits for its agent, is recorded, or is being saved. */
export function ProfileProgress({ view }: { readonly view: ProfileView }) {
  const elapsedMs = useElapsed(view.state === 'RECORDING');
  const { state, replica } = view;
  const totalMs = (view.seconds ?? 0) * 1_000;
  const isSaving = state === 'RECORDING' && elapsedMs >= totalMs;
  const text =
    state === 'REQUESTED'
      ? `Waiting for the next heartbeat of ${replica}…`
      : isSaving
        ? 'Saving the profile…'
        : `Recording ${replica} for ${view.seconds} s…`;
  const isMeasured = state === 'RECORDING' && !isSaving;
  return (
    <div class="card profile-progress" role="status">
      <p>{text}</p>
      <progress
        class="bar bar-running"
        aria-label="Progress of the profile"
        max={1}
        {...(isMeasured && { value: elapsedMs / totalMs })}
      />
    </div>
  );
}

/** Since the recording was first seen: the API does not say when it began. */
function useElapsed(isRecording: boolean): number {
  const [elapsedMs, setElapsed] = useState(0);
  useEffect(() => {
    if (!isRecording) {
      return;
    }
    const since = Date.now();
    const timer = setInterval(() => setElapsed(Date.now() - since), TICK_MS);
    return () => clearInterval(timer);
  }, [isRecording]);
  return elapsedMs;
}
