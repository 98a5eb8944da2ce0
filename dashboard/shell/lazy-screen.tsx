import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';

/** A screen whose code is loaded when it is first shown, so that it does not count in the page's first load. */
export function lazyScreen<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function LazyScreen(props: Props) {
    const [tries, setTries] = useState(0);
    const [, render] = useState(0);
    const [error, setError] = useState<ApiError | null>(null);
    useEffect(() => {
      load().then(
        (screen) => {
          loaded = screen;
          setError(null);
          render((count) => count + 1);
        },
        (thrown: unknown) => {
          // The console has its stack.
          reportError(thrown);
          setError(asApiError(thrown, (reason) => `This screen could not be loaded (${reason}).`, REMEDY));
        },
      );
    }, [tries]);
    const Screen = loaded;
    if (Screen !== null) {
      return <Screen {...props} />;
    }
    return error === null ? (
      <p class="loading">Loading…</p>
    ) : (
      <ErrorPanel error={error} onRetry={() => setTries(tries + 1)} />
    );
  };
}

const REMEDY = 'Reload the page: the API is unreachable, or it was updated since the page was opened.';
