import { useEffect, useMemo, useState } from 'preact/hooks';
import { type LogFilter, type LogLine, searchableText, searchPattern } from '#dashboard/log/log-lines.ts';

/** The result of a search by a regular expression, as far as it is known. */
export type RegExpSearch = {
  readonly matches: (line: LogLine) => boolean;
  readonly error: string | null;
  /** Changes with the result. */
  readonly version: number;
};

type Searcher = {
  readonly result: () => RegExpSearch;
  readonly read: (lines: readonly LogLine[]) => void;
  end(): void;
};

const LINES_PER_BATCH = 10_000;
const BATCH_MS_MAX = 3_000;
/** After the last key, so that an expression that is being typed is not searched for. */
const PAUSE_MS = 200;

/** Searches the lines in a worker; null if the filter has no regular expression. */
export function useRegExpSearch(lines: readonly LogLine[], { search, isRegExp }: LogFilter): RegExpSearch | null {
  const [, render] = useState(0);
  const searcher = useMemo(
    () => (isRegExp && search !== '' ? createSearcher(search, () => render((count) => count + 1)) : null),
    [search, isRegExp],
  );
  useEffect(() => () => searcher?.end(), [searcher]);
  useEffect(() => searcher?.read(lines), [searcher, lines]);
  return searcher?.result() ?? null;
}

function createSearcher(search: string, onChange: () => void): Searcher {
  const known = new WeakMap<LogLine, boolean>();
  const isValid = searchPattern({ search, isRegExp: true }) !== null;
  let lines: readonly LogLine[] = [];
  let result: RegExpSearch = {
    matches: (line) => known.get(line) === true,
    error: isValid ? null : `${search} is not a regular expression.`,
    version: 0,
  };
  let worker: Worker | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isEnded = !isValid;

  const change = (error: string | null) => {
    result = { ...result, error, version: result.version + 1 };
    onChange();
  };
  const end = () => {
    isEnded = true;
    clearTimeout(timer);
    worker?.terminate();
  };
  const fail = (error: string) => {
    end();
    change(error);
  };
  const searchNext = () => {
    timer = undefined;
    const batch = lines.filter((line) => !known.has(line)).slice(0, LINES_PER_BATCH);
    if (isEnded || batch.length === 0) {
      return;
    }
    worker ??= startWorker(() => fail('The search could not be started: reload the page.'));
    worker.onmessage = ({ data }: MessageEvent<readonly boolean[]>) => {
      clearTimeout(timer);
      for (const [index, line] of batch.entries()) {
        known.set(line, data[index] === true);
      }
      change(null);
      searchNext();
    };
    timer = setTimeout(() => fail('The expression takes too long: simplify repetitions in it.'), BATCH_MS_MAX);
    worker.postMessage({ search, texts: batch.map(searchableText) });
  };

  return {
    result: () => result,
    read(given) {
      lines = given;
      if (timer === undefined && !isEnded) {
        timer = setTimeout(searchNext, PAUSE_MS);
      }
    },
    end,
  };
}

/** The index names the file, since its name has a hash. */
function startWorker(onError: () => void): Worker {
  const address = document.querySelector<HTMLMetaElement>('meta[name="log-search"]')?.content ?? '';
  const worker = new Worker(address, { type: 'module' });
  worker.onerror = onError;
  return worker;
}
