import { createStore } from '#dashboard/store/store.ts';

const KEY = 'dropforge-pinned-metrics';
const PINNED_MAX = 50;

/** The metrics that this reader wants to see first, in every job; kept in the browser. */
export const pinnedMetrics = createStore<ReadonlySet<string>>(readPinned());

export function togglePinned(name: string): void {
  const current = pinnedMetrics.get();
  const next = new Set(
    current.has(name) ? [...current].filter((one) => one !== name) : [...current, name].slice(-PINNED_MAX),
  );
  pinnedMetrics.set(next);
  localStorage.setItem(KEY, JSON.stringify([...next]));
}

function readPinned(): ReadonlySet<string> {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []);
  } catch {
    return new Set();
  }
}
