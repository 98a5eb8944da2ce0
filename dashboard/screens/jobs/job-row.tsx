import type { Column } from '#dashboard/components/column.ts';
import { Cells } from '#dashboard/components/data-table.tsx';
import { Icon } from '#dashboard/components/icon.tsx';
import { memo } from '#dashboard/components/memo.ts';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import { formatDateTime } from '#dashboard/format/format-time.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { Sparkline } from '#dashboard/screens/jobs/sparkline.tsx';
import type { Sparkline as Line } from '#shared/protocol/answers.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatValue } from '#shared/text/format-number.ts';
import { formatAgo, formatDuration, formatSpan } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';
import { describeKeptBriefly } from '#shared/views/describe/describe-kept.ts';
import { listModels, summarizeMachines } from '#shared/views/describe/describe-machines.ts';
import { isEnded } from '#shared/views/describe/is-ended.ts';
import { describeProgress, mainMetricOf } from '#shared/views/describe/job-progress.ts';

type Props = {
  readonly job: JobView;
  /** The course of its metric; undefined while it is not read. */
  readonly line: Line | undefined;
  /** From 1, in the whole list. */
  readonly rowIndex: number;
  /** The current time, to the minute: rows of ended jobs stay as they are. */
  readonly now: number;
  readonly isSelected: boolean;
  readonly onSelect: (jobId: string, isSelected: boolean) => void;
};

/** The columns of the list of jobs. */
export const JOB_COLUMNS: readonly Column<Props>[] = [
  { header: <span class="visually-hidden">Selected</span>, class: 'job-select', cell: (row) => <Selection {...row} /> },
  { header: 'Job', class: 'job-name', cell: ({ job }) => <JobName job={job} /> },
  { header: 'State', class: 'job-state', cell: ({ job }) => <StateBadge state={job.state} /> },
  { header: 'Machines', class: 'job-machines', cell: ({ job }) => <MachinesCell job={job} /> },
  { header: 'Progress', class: 'job-progress', cell: ({ job, now }) => <ProgressCell job={job} now={now} /> },
  { header: 'Metric', class: 'job-metric number', cell: ({ job, line }) => <MetricCell job={job} line={line} /> },
  { header: 'Cost', class: 'job-cost number', cell: ({ job }) => formatUsd(job.price.totalUsd) },
  {
    header: 'Attempts',
    class: 'job-attempts number',
    cell: ({ job }) => (job.tuning === null ? Math.max(job.attempt, 1) : ''),
  },
  { header: 'Created', class: 'job-created number', cell: ({ job, now }) => <CreatedCell job={job} now={now} /> },
];

/** One job of the list. */
export const JobRow = memo(function JobRow(row: Props) {
  return (
    <tr aria-rowindex={row.rowIndex + 1} class={row.isSelected ? 'job-row is-selected' : 'job-row'}>
      <Cells columns={JOB_COLUMNS} row={row} />
    </tr>
  );
});

function Selection({ job, isSelected, onSelect }: Props) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${job.jobId}`}
      checked={isSelected}
      onChange={(event) => onSelect(job.jobId, event.currentTarget.checked)}
    />
  );
}

function JobName({ job }: Pick<Props, 'job'>) {
  return (
    <>
      <Link href={addressOfJob(job.jobId)} class="job-link truncate user-text" title={job.jobId}>
        {job.jobId}
      </Link>
      <JobNote job={job} />
    </>
  );
}

function MachinesCell({ job }: Pick<Props, 'job'>) {
  const { machines, gpus } = summarizeMachines(job.machines);
  const model = (job.placement ?? job.timeline.at(-1))?.provisioningModel;
  return (
    <>
      <span class="job-line truncate">{gpus ?? machines}</span>
      <span class="job-line muted truncate" title={machines}>
        {gpus === null ? (job.placement?.zone ?? '') : machines}
        {listModels(job.machines, model).includes('SPOT') && <span class="tag job-spot">Spot</span>}
      </span>
    </>
  );
}

function MetricCell({ job, line }: Pick<Props, 'job' | 'line'>) {
  const metric = mainMetricOf(job);
  return (
    metric !== null && (
      <span class="metric-cell">
        <span class="metric-line">{line?.name === metric.name && <Sparkline line={line} />}</span>
        <span class="job-line">{formatValue(metric.value)}</span>
        <span class="job-line muted truncate user-text" title={metric.name}>
          {metric.name}
        </span>
      </span>
    )
  );
}

function CreatedCell({ job, now }: Pick<Props, 'job' | 'now'>) {
  return (
    <>
      <span class="job-line" title={formatDateTime(job.createTime)}>
        {formatAgo(job.createTime, now)}
      </span>
      <span class="job-line muted">{formatSpan(job, now)}</span>
    </>
  );
}

/** Below the name: whether a failed job still has a billed VM, why it failed or waits; otherwise its labels. */
function JobNote({ job }: { readonly job: JobView }) {
  const text = job.state === 'FAILED' ? job.errorMessage : (job.waitingFor?.message ?? null);
  const kept = describeKeptBriefly(job);
  if (kept !== null || (text !== null && text !== '')) {
    return (
      <span class="job-line muted truncate user-text" title={text ?? ''}>
        {kept !== null && <span class="job-warning">{kept}. </span>}
        {text}
      </span>
    );
  }
  const warning = job.health.find(({ untilTime }) => untilTime === null);
  if (warning !== undefined && !isEnded(job)) {
    return (
      <span class="job-line job-warning truncate user-text" title={warning.message}>
        <Icon name="warning" /> {warning.message}
      </span>
    );
  }
  const labels = Object.entries(job.labels).slice(0, 4);
  return (
    <span class="job-line job-labels">
      {job.tuning !== null && (
        <span class="tag">
          tuning · {job.tuning.counts.running} of {job.tuning.parallelTrialsMax} running
        </span>
      )}
      {labels.map(([key, value]) => (
        <Link key={key} href={`/?label=${encodeURIComponent(`${key}:${value}`)}`} class="tag truncate user-text">
          {key}: {value}
        </Link>
      ))}
    </span>
  );
}

function ProgressCell({ job, now }: Pick<Props, 'job' | 'now'>) {
  const progress = describeProgress(job, now);
  if (progress === null) {
    return null;
  }
  const { fraction, text, leftMs } = progress;
  return (
    <>
      <span class="job-line job-progress-text">
        <span>{text}</span>
        {leftMs !== null && <span class="muted">{formatDuration(Math.max(0, leftMs))} left</span>}
      </span>
      <progress
        class={`bar bar-${job.state.toLowerCase()}`}
        max={1}
        value={fraction}
        aria-label={`Progress of ${job.jobId}`}
      />
    </>
  );
}
