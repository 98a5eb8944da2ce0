import { useState } from 'preact/hooks';
import { seriesVariable } from '#dashboard/charts/colors.ts';
import { type Column, sortRows } from '#dashboard/components/column.ts';
import { DataTable } from '#dashboard/components/data-table.tsx';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { COLOR_COUNT } from '#dashboard/screens/compare/compare-charts.tsx';
import { type ComparedJob, namesOf } from '#dashboard/screens/compare/parameters.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

const METRICS_MAX = 12;

type Props = {
  readonly jobs: readonly ComparedJob[];
  readonly metricNames: readonly string[];
  readonly onRemove: (jobId: string) => void;
};

/** The jobs with the parameters in which they differ and the last values of their metrics. */
export function CompareTable({ jobs, metricNames, onRemove }: Props) {
  const [onlyDifferences, setOnlyDifferences] = useState(true);
  const [order, setOrder] = useState({ by: '', isDescending: false });
  const names = namesOf(
    jobs.map(({ parameters }) => parameters),
    onlyDifferences,
  );
  const columns: readonly Column<ComparedJob>[] = [
    { header: 'Job', cell: (job) => <JobName job={job} index={jobs.indexOf(job)} /> },
    { header: 'State', cell: ({ view }) => <StateBadge state={view.state} /> },
    ...metricNames.slice(0, METRICS_MAX).map((name) => ({
      header: name,
      by: `metric ${name}`,
      value: ({ metrics }: ComparedJob) => metrics[name],
      class: 'number strong',
      cell: (job: ComparedJob) => (job.metrics[name] === undefined ? '–' : formatValue(job.metrics[name])),
    })),
    ...names.map((name) => ({
      header: name,
      by: `parameter ${name}`,
      value: ({ parameters }: ComparedJob) => parameters[name],
      class: 'number user-text',
      cell: ({ parameters }: ComparedJob) => <span title={parameters[name]}>{shorten(parameters[name] ?? '')}</span>,
    })),
    {
      header: 'Cost',
      by: 'cost',
      value: ({ view }) => view.price.totalUsd,
      class: 'number',
      cell: ({ view }) => formatUsd(view.price.totalUsd),
    },
    {
      header: <span class="visually-hidden">Remove</span>,
      class: 'number',
      cell: ({ view }) => <RemoveButton jobId={view.jobId} onRemove={onRemove} />,
    },
  ];
  return (
    <section class="card table-scroll" aria-label="Parameters and results">
      <header class="section-header">
        <h2>Parameters and results</h2>
        <label class="check">
          <input
            type="checkbox"
            checked={onlyDifferences}
            onChange={(event) => setOnlyDifferences(event.currentTarget.checked)}
          />
          Only differences
        </label>
      </header>
      <DataTable
        rows={sortRows(jobs, columns, order)}
        keyOf={({ view }) => view.jobId}
        {...{ columns, order }}
        onOrder={setOrder}
      />
    </section>
  );
}

/** `0.0255` for `0.02554327823361382`: a tuning writes its values in full. */
function shorten(text: string): string {
  return /^-?\d+\.\d{6,}$/.test(text) ? formatValue(Number(text)) : text;
}

function JobName({ job: { view }, index }: { readonly job: ComparedJob; readonly index: number }) {
  return (
    <span class="file-name">
      <span
        class={`legend-line${index >= COLOR_COUNT ? ' legend-dashed' : ''}`}
        style={{ color: `var(${seriesVariable(index)})` }}
        aria-hidden="true"
      />
      <Link href={addressOfJob(view.jobId)} class="user-text">
        {view.jobId}
      </Link>
    </span>
  );
}

function RemoveButton({ jobId, onRemove }: Pick<Props, 'onRemove'> & { readonly jobId: string }) {
  const label = `Remove ${jobId} from the comparison`;
  return (
    <button type="button" class="text-button" aria-label={label} onClick={() => onRemove(jobId)}>
      Remove
    </button>
  );
}
