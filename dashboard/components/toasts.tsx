import { Icon } from '#dashboard/components/icon.tsx';
import { createStore } from '#dashboard/store/store.ts';
import { useStore } from '#dashboard/store/use-store.ts';

type Toast = { readonly id: number; readonly tone: 'info' | 'error'; readonly text: string };

const SHOWN_MS = 6_000;
const SHOWN_MAX = 4;

const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

/** Shows a message for a few seconds; errors stay until they are dismissed. */
export function showToast(text: string, tone: Toast['tone'] = 'info'): void {
  lastId += 1;
  const id = lastId;
  toasts.set([...toasts.get(), { id, tone, text }].slice(-SHOWN_MAX));
  if (tone === 'info') {
    setTimeout(() => dismiss(id), SHOWN_MS);
  }
}

function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useStore(toasts).map(({ id, tone, text }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <Icon name={tone === 'error' ? 'error' : 'check'} />
          <span>{text}</span>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
