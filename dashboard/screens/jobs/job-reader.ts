import { type ApiError, asApiError } from '#dashboard/client/api-error.ts';
import type { LiveChanges } from '#dashboard/client/live-updates.ts';
import type { ConditionalAnswer } from '#dashboard/client/request.ts';
import {
  type Chunk,
  chunksOf,
  EMPTY_LIST,
  type JobList,
  type JobsPage,
  mergeChunk,
  mergeJobs,
  unreadToken,
} from '#dashboard/screens/jobs/job-list.ts';
import type { Change } from '#shared/ports/change-feed.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

const PAGE_SIZE = 100;

/** A list that changes all the time is read again this often. */
const REFRESH_PAUSE_MS = 1_000;

/** Servers reject long addresses. */
const ADDRESS_CHARS_MAX = 6_000;
const IDS_MAX = 100;

/** Reads the jobs of one filter page by page, and again when jobs change; one request at a time. */
export type JobReader = {
  readonly list: () => JobList;
  readonly error: () => ApiError | null;
  readonly isReading: () => boolean;
  readonly readMore: () => void;
  /** Reads the newest jobs and those on the screen again. */
  readonly refresh: () => void;
  /** Reads the jobs again that changed; of those that only sent heartbeats, the ones on the screen. */
  readonly update: (changes: LiveChanges) => void;
  /** The rows on the screen. */
  readonly show: (first: number, last: number) => void;
  /** Its answers are ignored from now on. */
  readonly end: () => void;
};

type Source = {
  readonly get: (path: string, etag: string | null) => Promise<ConditionalAnswer<JobsPage>>;
  readonly onChange: () => void;
  /** Calls back once after a time. */
  readonly after: (ms: number, callback: () => void) => void;
};

export function createJobReader(filter: string, { get, onChange, after }: Source): JobReader {
  const requests = createRequests(filter, get);
  let list: JobList = EMPTY_LIST;
  let error: ApiError | null = null;
  let shown = { first: 0, last: 0 };
  let isReading = false;
  /** The jobs that have changed and are not requested yet. */
  let outdated: Outdated = new Set();
  let isEnded = false;

  const run = async (read: (list: JobList) => Promise<JobList>) => {
    isReading = true;
    error = await read(list).then(
      (next) => {
        list = next;
        return null;
      },
      (thrown) => asApiError(thrown, (reason) => `The list of jobs could not be read (${reason}).`),
    );
    isReading = false;
    if (!isEnded) {
      onChange();
    }
    if (!isEmpty(outdated)) {
      after(REFRESH_PAUSE_MS, readOutdated);
    }
  };

  const readOutdated = () => {
    if (!isEnded && !isReading && !isEmpty(outdated)) {
      const wanted = outdated;
      outdated = new Set();
      void run((before) => requests.readAgain(before, wanted, shown));
    }
  };

  const markOutdated = (more: Outdated) => {
    outdated = more === 'ALL' || outdated === 'ALL' ? 'ALL' : new Set([...outdated, ...more]);
    readOutdated();
  };

  return {
    list: () => list,
    error: () => error,
    isReading: () => isReading,
    refresh: () => markOutdated('ALL'),
    update(changes) {
      const isUnknown = changes === 'ALL' || error?.isTransient === true;
      markOutdated(isUnknown ? 'ALL' : concernedIn(changes, list.jobs.slice(shown.first, shown.last + 1)));
    },
    readMore() {
      const token = unreadToken(list);
      if (!isReading && token !== null) {
        void run((before) => requests.readChunk(before, { token: token ?? null, etag: null }));
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

type Outdated = ReadonlySet<string> | 'ALL';
type Shown = { readonly first: number; readonly last: number };

function isEmpty(outdated: Outdated): boolean {
  return outdated !== 'ALL' && outdated.size === 0;
}

/** The jobs whose record changed, and those on the screen whose VMs reported. */
function concernedIn(changes: readonly Change[], onScreen: readonly JobView[]): ReadonlySet<string> {
  const ids = new Set(onScreen.map(({ jobId }) => jobId));
  return new Set(changes.filter(({ kind, jobId }) => kind === 'RECORD' || ids.has(jobId)).map(({ jobId }) => jobId));
}

/** The requests of one filter; each resolves with the list after it. */
function createRequests(filter: string, get: Source['get']) {
  const readChunk = async (list: JobList, { token, etag }: Omit<Chunk, 'nextToken'>) => {
    const parameter = token === null ? '' : `&pageToken=${encodeURIComponent(token)}`;
    const answer = await get(`/v1/jobs?view=PROGRESS&pageSize=${PAGE_SIZE}${filter}${parameter}`, etag);
    return answer.isUnchanged ? list : mergeChunk(list, answer.data, { token, etag: answer.etag });
  };
  return {
    readChunk,
    async readAgain(list: JobList, outdated: Outdated, shown: Shown) {
      const query = outdated === 'ALL' ? '' : [...outdated].map((id) => `&id=${encodeURIComponent(id)}`).join('');
      if (outdated !== 'ALL' && outdated.size <= IDS_MAX && query.length <= ADDRESS_CHARS_MAX) {
        const answer = await get(`/v1/jobs?view=PROGRESS${filter}${query}`, null);
        return answer.isUnchanged ? list : mergeJobs(list, outdated, answer.data.jobs);
      }
      let read = list;
      for (const chunk of chunksToRefresh(list, shown)) {
        read = await readChunk(read, chunk);
      }
      return read;
    },
  };
}

/** The newest jobs, to which new ones are added, and those on the screen. */
function chunksToRefresh(list: JobList, { first, last }: Shown) {
  const head = list.chunks[0] ?? { token: null, etag: null };
  return new Set([head, ...chunksOf(list, first, Math.min(last, list.jobs.length - 1))]);
}
