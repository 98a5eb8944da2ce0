/** A value that components follow. */
export type Store<Value> = {
  get(): Value;
  set(next: Value): void;
  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void;
};

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (!Object.is(next, value)) {
        value = next;
        for (const listener of [...listeners]) {
          listener();
        }
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
