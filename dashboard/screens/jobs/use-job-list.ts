import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLive } from '#dashboard/client/live.ts';
import { getJson } from '#dashboard/client/request.ts';
import type { JobsPage } from '#dashboard/screens/jobs/job-list.ts';
import { createJobReader, type JobReader } from '#dashboard/screens/jobs/job-reader.ts';

/** The jobs that satisfy a filter; the component renders again when they change. */
export function useJobList(filter: string): JobReader {
  const [, render] = useState(0);
  const reader = useMemo(() => {
    const onChange = () => render((count) => count + 1);
    const after = (ms: number, callback: () => void) => void setTimeout(callback, ms);
    return createJobReader(filter, { get: getJson<JobsPage>, onChange, after });
  }, [filter]);
  useEffect(() => {
    reader.readMore();
    return reader.end;
  }, [reader]);
  useLive('ALL', reader.update);
  return reader;
}
