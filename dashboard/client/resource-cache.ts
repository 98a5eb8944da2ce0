import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import type { ConditionalAnswer } from '#dashboard/client/request.ts';

/** A resource of the API as it was last read. After a failed refresh, it has both an error and the last data. */
export type ResourceState = {
  readonly data: unknown;
  readonly error: ApiError | null;
  readonly isLoading: boolean;
};

type Entry = {
  state: ResourceState;
  etag: string | null;
  readonly listeners: Set<() => void>;
  isRequested: boolean;
  /** A refresh was asked for while a request was under way, which may have been answered with older data. */
  isOutdated: boolean;
};

export type ResourceCache = {
  /** Loads the resource when it gets its first listener, and keeps it as long as it has one. */
  subscribe(path: string, listener: () => void): () => void;
  stateOf(path: string): ResourceState;
  refresh(path: string): void;
};

const NOT_LOADED: ResourceState = { data: undefined, error: null, isLoading: true };

/** Resources by path. At most one request per path is under way; any number of refreshes meanwhile become one. */
export function createResourceCache(
  get: (path: string, etag: string | null) => Promise<ConditionalAnswer<unknown>>,
): ResourceCache {
  const entries = new Map<string, Entry>();

  const update = (entry: Entry, state: ResourceState) => {
    entry.state = state;
    for (const listener of [...entry.listeners]) {
      listener();
    }
  };

  const load = async (path: string, entry: Entry) => {
    entry.isRequested = true;
    do {
      entry.isOutdated = false;
      try {
        const answer = await get(path, entry.etag);
        if (answer.isUnchanged) {
          update(entry, { ...entry.state, error: null, isLoading: false });
        } else {
          entry.etag = answer.etag;
          update(entry, { data: answer.data, error: null, isLoading: false });
        }
      } catch (error) {
        const describe = (reason: string) => `The answer of the API could not be read (${reason}).`;
        update(entry, { data: entry.state.data, error: asApiError(error, describe), isLoading: false });
      }
    } while (entry.isOutdated && entry.listeners.size > 0);
    entry.isRequested = false;
  };

  const refresh = (path: string) => {
    const entry = entries.get(path);
    if (entry?.isRequested === true) {
      entry.isOutdated = true;
    } else if (entry !== undefined) {
      void load(path, entry);
    }
  };

  return {
    refresh,
    stateOf: (path) => entries.get(path)?.state ?? NOT_LOADED,
    subscribe(path, listener) {
      const entry = entries.get(path) ?? {
        state: NOT_LOADED,
        etag: null,
        listeners: new Set<() => void>(),
        isRequested: false,
        isOutdated: false,
      };
      entries.set(path, entry);
      entry.listeners.add(listener);
      if (entry.listeners.size === 1) {
        refresh(path);
      }
      return () => {
        entry.listeners.delete(listener);
        if (entry.listeners.size === 0) {
          entries.delete(path);
        }
      };
    },
  };
}
