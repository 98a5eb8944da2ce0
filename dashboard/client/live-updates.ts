import { createStore, type Store } from '#dashboard/store/store.ts';
import type { Change, Changes } from '#shared/ports/change-feed.ts';

/** RECONNECTING: the API is unreachable, and is tried again with growing pauses. PAUSED: the tab is hidden. */
export type LiveStatus = 'CONNECTING' | 'LIVE' | 'RECONNECTING' | 'PAUSED';

/** The changes that one poll found; ALL if anything may have changed. */
export type LiveChanges = readonly Change[] | 'ALL';

/** The jobs whose changes a listener follows; ALL for lists. */
export type Watched = readonly string[] | 'ALL';

export type LiveUpdates = {
  readonly status: Store<LiveStatus>;
  /** Calls the listener after each poll. Of one watched job, the API is asked for its changes only. */
  subscribe(watched: Watched, listener: (changes: LiveChanges) => void): () => void;
  /** Starts and follows the visibility of the tab. */
  start(): void;
};

/** Between two tries to reach the API. */
const PAUSE_MS_MAX = 60_000;

/** The functions of the browser that the module needs. */
export type LiveEnvironment = {
  readonly poll: (query: { readonly marker: string | null; readonly jobId: string | null }) => Promise<Changes>;
  readonly isVisible: () => boolean;
  readonly onVisibilityChange: (listener: () => void) => void;
  /** Calls back once after a time; returns the function that cancels it. */
  readonly after: (ms: number, callback: () => void) => () => void;
};

/** Asks the API what changed, as often as it says, and only while the tab is visible; one request at a time. */
export function createLiveUpdates(environment: LiveEnvironment): LiveUpdates {
  const status = createStore<LiveStatus>('CONNECTING');
  const listeners = new Map<(changes: LiveChanges) => void, Watched>();
  const jobId = () => onlyJobOf([...listeners.values()]);
  const publish = (changes: LiveChanges) => {
    for (const listener of [...listeners.keys()]) {
      listener(changes);
    }
  };
  const poller = createPoller(environment, { status, jobId, publish });
  const change = (work: () => void) => {
    const before = jobId();
    work();
    if (jobId() !== before) {
      poller.pollNow();
    }
  };
  return {
    status,
    subscribe(watched, listener) {
      change(() => listeners.set(listener, watched));
      return () => change(() => listeners.delete(listener));
    },
    start: poller.start,
  };
}

type Target = {
  readonly status: Store<LiveStatus>;
  /** The job whose changes alone are asked for. */
  readonly jobId: () => string | null;
  readonly publish: (changes: LiveChanges) => void;
};

function createPoller(environment: LiveEnvironment, { status, jobId, publish }: Target) {
  const isNew = createNewness();
  let marker: string | null = null;
  let failures = 0;
  let state: 'STOPPED' | 'WAITING' | 'POLLING' = 'STOPPED';
  let cancel = () => {};

  const waitThenPoll = (ms: number) => {
    cancel();
    state = 'WAITING';
    cancel = environment.after(ms, () => void poll());
  };

  const proceed = (next: LiveStatus, ms: number) => {
    state = 'STOPPED';
    if (environment.isVisible()) {
      status.set(next);
      waitThenPoll(ms);
    }
  };

  const poll = async () => {
    state = 'POLLING';
    const asked = jobId();
    try {
      const answer = await environment.poll({ marker, jobId: asked });
      // Other requests may have failed meanwhile, too.
      const isEverything = answer.isEverything || failures > 0;
      failures = 0;
      // The answer about one job leaves out the changes of others, which are shown by now.
      if (asked === null || asked === jobId()) {
        marker = answer.marker;
      }
      publish(isEverything ? 'ALL' : answer.changes.filter(isNew));
      proceed('LIVE', jobId() === asked ? answer.pollAfterMs : 0);
    } catch {
      failures += 1;
      proceed('RECONNECTING', Math.min(1_000 * 2 ** (failures - 1), PAUSE_MS_MAX));
    }
  };

  const follow = () => {
    if (!environment.isVisible()) {
      cancel();
      status.set('PAUSED');
    } else if (state !== 'POLLING') {
      cancel();
      void poll();
    }
  };

  return {
    start() {
      environment.onVisibilityChange(follow);
      follow();
    },
    pollNow() {
      if (state === 'WAITING' && environment.isVisible()) {
        waitThenPoll(0);
      }
    },
  };
}

/** The job that all listeners follow; null if they follow several, or none. */
function onlyJobOf(watched: readonly Watched[]): string | null {
  const [first, ...others] = new Set(watched.filter((one) => one !== 'ALL').flat());
  return watched.includes('ALL') || first === undefined || others.length > 0 ? null : first;
}

/** Whether a change is given for the first time: answers overlap. */
function createNewness(): (change: Change) => boolean {
  const versions = new Map<string, string>();
  return ({ jobId, kind, version }) => {
    const key = `${kind} ${jobId}`;
    const isNew = versions.get(key) !== version;
    versions.set(key, version);
    return isNew;
  };
}

/** Whether one of the watched jobs may have changed; of lists, whether the record of any job has. */
export function isConcerned(watched: Watched, changes: LiveChanges): boolean {
  if (changes === 'ALL') {
    return watched === 'ALL' || watched.length > 0;
  }
  return changes.some(({ jobId, kind }) => (watched === 'ALL' ? kind === 'RECORD' : watched.includes(jobId)));
}
