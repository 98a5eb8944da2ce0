import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '#dashboard/client/api-error.ts';
import { useLive } from '#dashboard/client/live.ts';
import { getJson } from '#dashboard/client/request.ts';
import {
  type Chunk,
  chunksOf,
  EMPTY_LIST,
  type JobList,
  type JobsPage,
  mergeChunk,
  unreadToken,
} from '#dashboard/screens/jobs/job-list.ts';

const PAGE_SIZE = 100;

/** A list that changes all the time is read again this often. */
const REFRESH_PAUSE_MS = 1_000;

export type LiveJobList = {
  readonly list: JobList;
  readonly error: ApiError | null;
  readonly isReading: boolean;
  readonly readMore: () => void;
  readonly reload: () => void;
  /** The rows on the screen, which are read again when jobs change. */
  readonly show: (first: number, last: number) => void;
};

/** What outlives a rendering. */
type Reading = { list: JobList; isReading: boolean; isOutdated: boolean; first: number; last: number; isEnded: boolean };

/** The jobs that satisfy a filter: read page by page, and again when jobs change. */
export function useJobList(filter: string): LiveJobList {
  const [, render] = useState(0);
  const [error, setError] = useState<ApiError | null>(null);
  const state = useRef<Reading>(newReading());

  const read = async (reading: Reading, chunk: Omit<Chunk, 'nextToken'>) => {
    const token = chunk.token === null ? '' : `&pageToken=${encodeURIComponent(chunk.token)}`;
    const answer = await getJson<JobsPage>(`/v1/jobs?view=PROGRESS&pageSize=${PAGE_SIZE}${filter}${token}`, chunk.etag);
    if (!answer.isUnchanged) {
      reading.list = mergeChunk(reading.list, answer.data, { token: chunk.token, etag: answer.etag });
    }
  };

  const run = async (reading: Reading, work: () => Promise<void>) => {
    if (reading.isReading || reading.isEnded) {
      reading.isOutdated = true;
      return;
    }
    reading.isReading = true;
    reading.isOutdated = false;
    render((count) => count + 1);
    const failure = await work().then(
      () => null,
      (thrown: unknown) => asApiError(thrown),
    );
    reading.isReading = false;
    if (!reading.isEnded) {
      setError(failure);
      render((count) => count + 1);
    }
  };

  const readMore = () => {
    const reading = state.current;
    const token = unreadToken(reading.list);
    return token === null
      ? Promise.resolve()
      : run(reading, () => read(reading, { token: token ?? null, etag: null }));
  };

  const refresh = async () => {
    const reading = state.current;
    const [head] = reading.list.chunks;
    const shown = chunksOf(reading.list, reading.first, reading.last);
    const chunks = [...new Set([head ?? { token: null, etag: null }, ...shown])];
    await run(reading, async () => {
      for (const chunk of chunks) {
        await read(reading, chunk);
      }
    });
    if (reading.isOutdated && !reading.isEnded) {
      setTimeout(() => void refresh(), REFRESH_PAUSE_MS);
    }
  };

  useEffect(() => {
    const reading = newReading();
    state.current = reading;
    void readMore();
    return () => {
      reading.isEnded = true;
    };
  }, [filter]);
  useLive('ALL', () => void refresh());

  return {
    list: state.current.list,
    error,
    isReading: state.current.isReading,
    readMore: () => void readMore(),
    reload: () => void refresh(),
    show(first, last) {
      state.current.first = first;
      state.current.last = last;
    },
  };
}

function newReading(): Reading {
  return { list: EMPTY_LIST, isReading: false, isOutdated: false, first: 0, last: 0, isEnded: false };
}

function asApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError
    ? thrown
    : new ApiError(`The list of jobs could not be read (${String(thrown)}).`, { status: 0, remedy: 'Reload the page.' });
}
