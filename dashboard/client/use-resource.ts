import { useEffect, useState } from 'preact/hooks';
import type { ApiError } from '#dashboard/client/api-error.ts';
import { useLive } from '#dashboard/client/live.ts';
import { isConcerned, type Watched } from '#dashboard/client/live-updates.ts';
import { getJson } from '#dashboard/client/request.ts';
import { createResourceCache } from '#dashboard/client/resource-cache.ts';

const resources = createResourceCache(getJson);

export type Resource<Data> = {
  /** The last data that was read; undefined before. It stays when a refresh fails. */
  readonly data: Data | undefined;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
};

/**
 * Reads a resource of the API, such as `/v1/jobs/digits`, and reads it again when one of the watched jobs changes, or
 * with the next poll after a failure that may have passed. The type is the caller's: the API answers with the schemas
 * of shared/protocol. No path: nothing is requested.
 */
export function useResource<Data>(path: string | null, watched: Watched = []): Resource<Data> {
  useSubscriptions(path === null ? [] : [path], watched);
  const reload = () => {
    if (path !== null) {
      resources.refresh(path);
    }
  };
  const { data, error, isLoading } =
    path === null ? { data: undefined, error: null, isLoading: false } : resources.stateOf(path);
  return { data: data as Data | undefined, error, isLoading, reload };
}

/** Several resources of one kind, in the order of their paths; undefined for those that have no data yet. */
export function useResources<Data>(paths: readonly string[], watched: Watched = []): readonly (Data | undefined)[] {
  useSubscriptions(paths, watched);
  return paths.map((path) => resources.stateOf(path).data as Data | undefined);
}

/** Keeps the resources up to date while the component is shown, and renders it again when they change. */
function useSubscriptions(paths: readonly string[], watched: Watched): void {
  const [, render] = useState(0);
  useEffect(() => {
    const ends = paths.map((path) => resources.subscribe(path, () => render((count) => count + 1)));
    return () => {
      for (const end of ends) {
        end();
      }
    };
  }, [paths.join('\n')]);
  useLive(watched, (changes) => {
    const isChanged = isConcerned(watched, changes);
    for (const path of paths.filter((one) => isChanged || resources.stateOf(one).error?.isTransient === true)) {
      resources.refresh(path);
    }
  });
}
