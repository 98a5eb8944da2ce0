import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { TableHead } from '#dashboard/components/data-table.tsx';
import { EmptyState } from '#dashboard/components/empty-state.tsx';
import { ErrorPanel } from '#dashboard/components/error-panel.tsx';
import { useNow } from '#dashboard/components/use-now.ts';
import { useRowWindow } from '#dashboard/components/use-window.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { useQuery } from '#dashboard/navigation/location.ts';
import { addressOfComparison } from '#dashboard/navigation/route.ts';
import { JobFilters, readJobFilter, toApiFilter } from '#dashboard/screens/jobs/job-filters.tsx';
import { unreadToken } from '#dashboard/screens/jobs/job-list.ts';
import type { JobReader } from '#dashboard/screens/jobs/job-reader.ts';
import { JOB_COLUMNS, JobRow } from '#dashboard/screens/jobs/job-row.tsx';
import { RunningLine } from '#dashboard/screens/jobs/running-line.tsx';
import { useJobList } from '#dashboard/screens/jobs/use-job-list.ts';
import { useSparklines } from '#dashboard/screens/jobs/use-sparklines.ts';
import { formatCount } from '#shared/text/format-number.ts';

/** The height of rows in jobs.css. It is fixed, so that only those near the visible part are rendered. */
const ROW_HEIGHT = 54;
const PHONE_ROW_HEIGHT = 96;
const PHONE = '(max-width: 760px)';

/** More is read when this many rows are left below the visible part. */
const ROWS_LEFT_MIN = 40;

/** All jobs, newest first. */
export function JobsScreen() {
  const filter = readJobFilter(useQuery());
  const apiFilter = toApiFilter(filter);
  const jobs = useJobList(apiFilter);
  const [selected, setSelected] = useState<readonly string[]>([]);
  const select = useCallback((jobId: string, isSelected: boolean) => {
    setSelected((before) => (isSelected ? [...before, jobId] : before.filter((one) => one !== jobId)));
  }, []);
  const { jobs: read } = jobs.list();
  const isUnread = unreadToken(jobs.list()) === undefined;
  const error = jobs.error();
  return (
    <section class="jobs">
      <header class="screen-header">
        <h1 class="screen-title">Jobs</h1>
        <RunningLine />
      </header>
      <JobFilters filter={filter} />
      {error !== null && <ErrorPanel error={error} onRetry={jobs.refresh} />}
      {read.length > 0 && <JobTable jobs={jobs} selected={selected} onSelect={select} />}
      {read.length === 0 && !isUnread && <NoJobs isFiltered={apiFilter !== ''} jobs={jobs} />}
      {selected.length > 0 && <SelectionBar selected={selected} onClear={() => setSelected([])} />}
    </section>
  );
}

type TableProps = {
  readonly jobs: JobReader;
  readonly selected: readonly string[];
  readonly onSelect: (jobId: string, isSelected: boolean) => void;
};

function JobTable({ jobs, selected, onSelect }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const now = useNow();
  const [list, isReading, error] = [jobs.list(), jobs.isReading(), jobs.error()];
  const count = list.jobs.length;
  const rows = useRowWindow(body, count, matchMedia(PHONE).matches ? PHONE_ROW_HEIGHT : ROW_HEIGHT);
  jobs.show(rows.first, rows.end - 1);
  const shown = list.jobs.slice(rows.first, rows.end);
  const lineOf = useSparklines(shown);
  const isComplete = unreadToken(list) === null;
  useEffect(() => {
    if (!isComplete && !isReading && error === null && rows.end > count - ROWS_LEFT_MIN) {
      jobs.readMore();
    }
  }, [rows.end, count, isComplete, isReading, error]);
  return (
    <>
      <table class="table jobs-table" aria-rowcount={isComplete ? count + 1 : -1}>
        <caption class="visually-hidden">Jobs, newest first</caption>
        <TableHead columns={JOB_COLUMNS} />
        <tbody ref={body}>
          {rows.heightBefore > 0 && <Spacer height={rows.heightBefore} />}
          {shown.map((job, index) => (
            <JobRow
              key={job.jobId}
              job={job}
              line={lineOf(job.jobId)}
              rowIndex={rows.first + index + 1}
              now={now}
              isSelected={selected.includes(job.jobId)}
              onSelect={onSelect}
            />
          ))}
          {rows.heightAfter > 0 && <Spacer height={rows.heightAfter} />}
        </tbody>
      </table>
      <p class="list-end muted" role="status">
        {formatCount(count, 'job')}
        {!isComplete && ' read so far'}
      </p>
    </>
  );
}

function Spacer({ height }: { readonly height: number }) {
  return (
    <tr class="spacer">
      <td colSpan={JOB_COLUMNS.length} style={{ height: `${height}px` }} />
    </tr>
  );
}

function NoJobs({ isFiltered, jobs }: { readonly isFiltered: boolean; readonly jobs: JobReader }) {
  const isComplete = unreadToken(jobs.list()) === null;
  useEffect(() => {
    if (!isComplete && !jobs.isReading() && jobs.error() === null) {
      jobs.readMore();
    }
  });
  if (!isComplete) {
    return <p class="loading">Searching older jobs…</p>;
  }
  return isFiltered ? (
    <EmptyState title="No job matches the filter.">
      <Link href="/">Show all jobs</Link>
    </EmptyState>
  ) : (
    <EmptyState title="There are no jobs yet">
      <p>
        <Link href="/drop">Drop a training package</Link>, or run <code>dropforge jobs submit training</code>.
      </p>
    </EmptyState>
  );
}

type SelectionProps = { readonly selected: readonly string[]; readonly onClear: () => void };

function SelectionBar({ selected, onClear }: SelectionProps) {
  return (
    <section class="selection-bar" aria-label="Selected jobs">
      <span>{formatCount(selected.length, 'job')} selected</span>
      {selected.length < 2 && <span class="muted">Select another one to compare them</span>}
      {selected.length > 20 && <span class="muted">At most 20 jobs can be compared</span>}
      {selected.length >= 2 && selected.length <= 20 && (
        <Link href={addressOfComparison(selected)} class="button button-primary">
          Compare
        </Link>
      )}
      <button type="button" class="button" onClick={onClear}>
        Clear
      </button>
    </section>
  );
}
