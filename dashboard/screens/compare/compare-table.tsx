import { useState } from 'preact/hooks';
import { seriesVariable } from '#dashboard/charts/colors.ts';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import { formatUsd, formatValue } from '#dashboard/format/format-number.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { COLOR_COUNT } from '#dashboard/screens/compare/compare-charts.tsx';
import { namesOf, type Parameters } from '#dashboard/screens/compare/parameters.ts';
import { sortRows } from '#dashboard/screens/compare/sort-rows.ts';
import type { JobView } from '#shared/protocol/report.ts';

/** One of the compared jobs. */
export type ComparedJob = {
  readonly view: JobView;
  readonly parameters: Parameters;
  /** The last value of each metric. */
  readonly metrics: Readonly<Record<string, number | string>>;
};

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
  const metrics = metricNames.slice(0, METRICS_MAX);
  const rows = sortRows(jobs, order);
  const header = (by: string, label: string) => {
    const isSorted = order.by === by;
    const direction = order.isDescending ? 'descending' : 'ascending';
    return (
      <th key={by} scope="col" class="number" aria-sort={isSorted ? direction : 'none'}>
        <button
          type="button"
          class="text-button user-text"
          onClick={() => setOrder({ by, isDescending: isSorted && !order.isDescending })}
        >
          {label}
          {isSorted && (order.isDescending ? ' ↓' : ' ↑')}
        </button>
      </th>
    );
  };
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
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">State</th>
            {metrics.map((name) => header(`metric ${name}`, name))}
            {names.map((name) => header(`parameter ${name}`, name))}
            {header('cost', 'Cost')}
            <th scope="col">
              <span class="visually-hidden">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((job) => (
            <Row key={job.view.jobId} {...{ job, metrics, names, onRemove }} index={jobs.indexOf(job)} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** `0.0255` for `0.02554327823361382`: a tuning writes its values in full. */
function shorten(text: string): string {
  return /^-?\d+\.\d{6,}$/.test(text) ? formatValue(Number(text)) : text;
}

type RowProps = {
  readonly job: ComparedJob;
  readonly index: number;
  readonly metrics: readonly string[];
  readonly names: readonly string[];
  readonly onRemove: (jobId: string) => void;
};

function Row({ job, index, metrics, names, onRemove }: RowProps) {
  const { view, parameters } = job;
  return (
    <tr>
      <td>
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
      </td>
      <td>
        <StateBadge state={view.state} />
      </td>
      {metrics.map((name) => (
        <td key={name} class="number strong">
          {job.metrics[name] === undefined ? '–' : formatValue(job.metrics[name])}
        </td>
      ))}
      {names.map((name) => (
        <td key={name} class="number user-text" title={parameters[name]}>
          {shorten(parameters[name] ?? '')}
        </td>
      ))}
      <td class="number">{formatUsd(view.price.totalUsd)}</td>
      <td class="number">
        <button
          type="button"
          class="text-button"
          aria-label={`Remove ${view.jobId} from the comparison`}
          onClick={() => onRemove(view.jobId)}
        >
          Remove
        </button>
      </td>
    </tr>
  );
}
