import { useEffect, useMemo, useState } from 'preact/hooks';
import { getJson } from '#dashboard/client/request.ts';
import { createSparklineReader, type SparklineReader } from '#dashboard/screens/jobs/sparkline-reader.ts';
import type { Sparklines } from '#shared/protocol/answers.ts';
import type { JobView } from '#shared/protocol/job-view.ts';

/** The lines of the rows on the screen; the component renders again when they change. */
export function useSparklines(shown: readonly JobView[]): SparklineReader['lineOf'] {
  const [, render] = useState(0);
  const reader = useMemo(
    () =>
      createSparklineReader({
        get: readLines,
        onChange: () => render((count) => count + 1),
        now: () => Date.now(),
        after: (ms, callback) => void setTimeout(callback, ms),
      }),
    [],
  );
  useEffect(() => reader.end, [reader]);
  useEffect(() => {
    if (document.visibilityState === 'visible') {
      reader.show(shown);
    }
  });
  return reader.lineOf;
}

async function readLines(path: string): Promise<Sparklines> {
  const answer = await getJson<Sparklines>(path, null);
  return answer.isUnchanged ? { sparklines: [] } : answer.data;
}
