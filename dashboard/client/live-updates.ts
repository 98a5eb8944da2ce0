import { createStore, type Store } from '#dashboard/store/store.ts';

/**
 * LIVE: changes arrive as events. POLLING: resources are requested periodically. RECONNECTING: the API is unreachable,
 * and is tried again with growing pauses. PAUSED: the tab is hidden.
 */
export type LiveStatus = 'CONNECTING' | 'LIVE' | 'POLLING' | 'RECONNECTING' | 'PAUSED';

/** The ids of the jobs that may have changed; ALL after a reconnect, and when polling. */
export type Changes = ReadonlySet<string> | 'ALL';

export type LiveUpdates = {
  readonly status: Store<LiveStatus>;
  subscribe(listener: (changes: Changes) => void): () => void;
  /** Starts and follows the visibility of the tab. */
  start(): void;
};

const POLL_INTERVAL_MS = 5_000;
/** Between two tries to reach the API. */
const PAUSE_MS_MAX = 60_000;

/** What the module needs of the browser. */
export type LiveEnvironment = {
  readonly openEvents: () => EventSource;
  readonly isVisible: () => boolean;
  readonly onVisibilityChange: (listener: () => void) => void;
  /** Requests in a row that failed. */
  readonly failuresInRow: Store<number>;
  /** Calls back once after a time; returns the function that cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
};

/**
 * Says which jobs changed: by server-sent events if the API has them, otherwise by polling, and only while the tab is
 * visible.
 */
export function createLiveUpdates(environment: LiveEnvironment): LiveUpdates {
  const status = createStore<LiveStatus>('CONNECTING');
  const listeners = new Set<(changes: Changes) => void>();
  const publish = (changes: Changes) => {
    for (const listener of [...listeners]) {
      listener(changes);
    }
  };
  let stop = () => {};
  const follow = () => {
    stop();
    if (environment.isVisible()) {
      stop = followChanges(environment, { status, publish });
    } else {
      stop = () => {};
      status.set('PAUSED');
    }
  };
  return {
    status,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start() {
      environment.onVisibilityChange(follow);
      follow();
    },
  };
}

type Target = { readonly status: Store<LiveStatus>; readonly publish: (changes: Changes) => void };

/** Connects, and reconnects or polls after a failure, until the returned function is called. */
function followChanges(environment: LiveEnvironment, { status, publish }: Target): () => void {
  let hasEvents = false;
  let stop = () => {};

  const poll = () => {
    const failures = environment.failuresInRow.get();
    status.set(failures > 0 ? 'RECONNECTING' : 'POLLING');
    const pauseMs = Math.min(POLL_INTERVAL_MS * 2 ** failures, PAUSE_MS_MAX);
    stop = environment.after(pauseMs, () => {
      publish('ALL');
      poll();
    });
  };

  const connect = (triesBefore: number) => {
    let tries = triesBefore;
    const source = environment.openEvents();
    stop = () => source.close();
    source.addEventListener('open', () => {
      hasEvents = true;
      tries = 0;
      status.set('LIVE');
      // What changed before the connection was open has no event.
      publish('ALL');
    });
    source.addEventListener('change', (event) => publish(readChanges(event.data)));
    source.addEventListener('error', () => {
      // An API without events answers 404, after which the source is closed; an unreachable API leaves it CONNECTING.
      const isRejected = source.readyState === source.CLOSED;
      source.close();
      if (isRejected && !hasEvents) {
        poll();
        return;
      }
      status.set('RECONNECTING');
      stop = environment.after(Math.min(1_000 * 2 ** tries, PAUSE_MS_MAX), () => connect(tries + 1));
    });
  };

  connect(0);
  return () => stop();
}

function readChanges(data: unknown): Changes {
  try {
    const { jobIds, isEverything } = JSON.parse(String(data));
    return isEverything === true ? 'ALL' : new Set<string>(jobIds);
  } catch {
    return 'ALL';
  }
}
