import { ApiError } from '#dashboard/client/api-error.ts';
import type { ConditionalAnswer } from '#dashboard/client/request.ts';
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

/** Reads the jobs of one filter page by page, and again when jobs change; one request at a time. */
export type JobReader = {
  readonly list: () => JobList;
  readonly error: () => ApiError | null;
  readonly isReading: () => boolean;
  readonly readMore: () => void;
  /** Reads the newest jobs and those on the screen again. */
  readonly refresh: () => void;
  /** The rows on the screen. */
  readonly show: (first: number, last: number) => void;
  /** Its answers are ignored from now on. */
  readonly end: () => void;
};

type Source = {
  readonly get: (path: string, etag: string | null) => Promise<ConditionalAnswer<JobsPage>>;
  readonly onChange: () => void;
};

export function createJobReader(filter: string, { get, onChange }: Source): JobReader {
  let list: JobList = EMPTY_LIST;
  let error: ApiError | null = null;
  let shown = { first: 0, last: 0 };
  let isReading = false;
  let isOutdated = false;
  let isEnded = false;

  const read = async ({ token, etag }: Omit<Chunk, 'nextToken'>) => {
    const parameter = token === null ? '' : `&pageToken=${encodeURIComponent(token)}`;
    const answer = await get(`/v1/jobs?view=PROGRESS&pageSize=${PAGE_SIZE}${filter}${parameter}`, etag);
    if (!answer.isUnchanged) {
      list = mergeChunk(list, answer.data, { token, etag: answer.etag });
    }
  };

  const run = async (work: () => Promise<void>) => {
    isReading = true;
    error = await work().then(() => null, toApiError);
    isReading = false;
    if (!isEnded) {
      onChange();
    }
  };

  const refresh = () => {
    if (isEnded) {
      return;
    }
    if (isReading) {
      isOutdated = true;
      return;
    }
    isOutdated = false;
    const chunks = chunksToRefresh(list, shown);
    void run(async () => {
      for (const chunk of chunks) {
        await read(chunk);
      }
    }).then(() => {
      if (isOutdated) {
        setTimeout(refresh, REFRESH_PAUSE_MS);
      }
    });
  };

  return {
    list: () => list,
    error: () => error,
    isReading: () => isReading,
    refresh,
    readMore() {
      const token = unreadToken(list);
      if (!isReading && token !== null) {
        void run(() => read({ token: token ?? null, etag: null }));
      }
    },
    show(first, last) {
      shown = { first, last };
    },
    end() {
      isEnded = true;
    },
  };
}

/** The newest jobs, to which new ones are added, and those on the screen. */
function chunksToRefresh(list: JobList, { first, last }: { readonly first: number; readonly last: number }) {
  const head = list.chunks[0] ?? { token: null, etag: null };
  return new Set([head, ...chunksOf(list, first, Math.min(last, list.jobs.length - 1))]);
}

function toApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError
    ? thrown
    : new ApiError(`The list of jobs could not be read (${String(thrown)}).`, {
        status: 0,
        remedy: 'Reload the page.',
      });
}
