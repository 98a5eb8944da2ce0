import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import { useLive } from '#dashboard/client/live.ts';
import { isConcerned } from '#dashboard/client/live-updates.ts';
import { getJson } from '#dashboard/client/request.ts';
import { appendEntries, type LogLine } from '#dashboard/log/log-lines.ts';
import type { LogPage } from '#shared/ports/log-store.ts';

/** The API's largest page: a shorter one is the last. */
const PAGE_ENTRIES = 1_000;
/** The pause that the API asks for, and up to as much again, so that several tabs do not return at once. */
const BUSY_PAUSE_MS = 15_000;
const SHOWN_EVERY_MS = 500;

export type Log = {
  readonly lines: readonly LogLine[];
  readonly error: ApiError | null;
  /** Whether older lines are still being read. */
  readonly isLoading: boolean;
};

/**
 * Reads the log of a job, or of one of its replicas, to its end, and what is added to it: with each poll while the job
 * runs.
 */
export function useLog({ jobId, replica }: { jobId: string; replica: string | null }, isRunning: boolean): Log {
  const [log, setLog] = useState<Log>({ lines: [], error: null, isLoading: true });
  const reader = useRef({
    cursor: '',
    isReading: false,
    isOutdated: false,
    isStopped: false,
    lines: [] as readonly LogLine[],
  });

  const read = async () => {
    const state = reader.current;
    if (state.isReading) {
      state.isOutdated = true;
      return;
    }
    state.isReading = true;
    let error: ApiError | null = null;
    let shownAt = Number.NEGATIVE_INFINITY;
    for (let hasMore = true; hasMore && !state.isStopped; ) {
      state.isOutdated = false;
      try {
        const page = await readPage({ jobId, replica, cursor: state.cursor });
        state.lines = page.entries.length === 0 ? state.lines : appendEntries(state.lines, page.entries);
        state.cursor = page.cursor;
        hasMore = page.entries.length === PAGE_ENTRIES || state.isOutdated;
        error = null;
      } catch (thrown) {
        error = asApiError(thrown);
        hasMore = error.status === 429;
        if (hasMore) {
          await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS * (1 + Math.random())));
        }
      }
      // A long log is read in many pages, whose lines need not be shown one by one.
      if (!hasMore || performance.now() - shownAt > SHOWN_EVERY_MS) {
        shownAt = performance.now();
        setLog({ lines: state.lines, error, isLoading: hasMore });
      }
    }
    state.isReading = false;
  };

  useLive([jobId], (changes) => {
    if (isRunning || isConcerned([jobId], changes) || log.error?.isTransient === true) {
      void read();
    }
  });
  useEffect(() => {
    void read();
    return () => {
      reader.current.isStopped = true;
    };
  }, []);
  return log;
}

type PageQuery = { readonly jobId: string; readonly replica: string | null; readonly cursor: string };

async function readPage({ jobId, replica, cursor }: PageQuery): Promise<LogPage> {
  const ofReplica = replica === null ? {} : { replica };
  const query = new URLSearchParams({ pageSize: String(PAGE_ENTRIES), cursor, ...ofReplica });
  const answer = await getJson<LogPage>(`/v1/jobs/${encodeURIComponent(jobId)}/logs?${query}`, null);
  return answer.isUnchanged ? { entries: [], cursor } : answer.data;
}
