import { useLayoutEffect, useState } from 'preact/hooks';
import type { Store } from '#dashboard/store/store.ts';

/** The store's value; the component renders again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [value, setValue] = useState<Value>(() => store.get());
  useLayoutEffect(() => {
    const update = () => setValue(() => store.get());
    // The value may have changed between rendering and subscribing.
    update();
    return store.subscribe(update);
  }, [store]);
  return value;
}
