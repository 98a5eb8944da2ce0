import { Icon } from '#dashboard/components/icon.tsx';
import { memo } from '#dashboard/components/memo.ts';
import { StateBadge } from '#dashboard/components/state-badge.tsx';
import { summarizeMachines } from '#dashboard/format/format-machines.ts';
import { formatUsd, formatValue } from '#dashboard/format/format-number.ts';
import { formatAge, formatDateTime, formatDuration } from '#dashboard/format/format-time.ts';
import { Link } from '#dashboard/navigation/link.tsx';
import { addressOfJob } from '#dashboard/navigation/route.ts';
import { describeKeptBriefly } from '#dashboard/screens/job/describe-kept.ts';
import { describeProgress, isEnded, mainMetricOf } from '#dashboard/screens/jobs/describe-progress.ts';
import { Sparkline } from '#dashboard/screens/jobs/sparkline.tsx';
import type { JobView } from '#shared/protocol/report.ts';
import type { Sparkline as Line } from '#shared/protocol/sparklines.ts';

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

/** One job of the list. */
export const JobRow = memo(function JobRow({ job, line, rowIndex, now, isSelected, onSelect }: Props) {
  const { machines, gpus } = summarizeMachines(job.machines);
  const metric = mainMetricOf(job);
  const isSpot = (job.placement ?? job.timeline.at(-1))?.provisioningModel === 'SPOT';
  const attempts = Math.max(job.attempt, 1);
  return (
    <tr aria-rowindex={rowIndex + 1} class={isSelected ? 'job-row is-selected' : 'job-row'}>
      <td class="job-select">
        <input
          type="checkbox"
          aria-label={`Select ${job.jobId}`}
          checked={isSelected}
          onChange={(event) => onSelect(job.jobId, event.currentTarget.checked)}
        />
      </td>
      <td class="job-name">
        <Link href={addressOfJob(job.jobId)} class="job-link truncate user-text" title={job.jobId}>
          {job.jobId}
        </Link>
        <JobNote job={job} />
      </td>
      <td class="job-state">
        <StateBadge state={job.state} />
      </td>
      <td class="job-machines">
        <span class="job-line truncate">{gpus ?? machines}</span>
        <span class="job-line muted truncate" title={machines}>
          {gpus === null ? (job.placement?.zone ?? '') : machines}
          {isSpot && <span class="tag job-spot">Spot</span>}
        </span>
      </td>
      <td class="job-progress">
        <ProgressCell job={job} now={now} />
      </td>
      <td class="job-metric number">
        {metric !== null && (
          <span class="metric-cell">
            <span class="metric-line">{line?.name === metric.name && <Sparkline line={line} />}</span>
            <span class="job-line">{formatValue(metric.value)}</span>
            <span class="job-line muted truncate user-text" title={metric.name}>
              {metric.name}
            </span>
          </span>
        )}
      </td>
      <td class="job-cost number">{formatUsd(job.price.totalUsd)}</td>
      <td class="job-attempts number">{job.tuning === null ? attempts : ''}</td>
      <td class="job-created number">
        <span class="job-line" title={formatDateTime(job.createTime)}>
          {formatAge(now - Date.parse(job.createTime))}
        </span>
        <span class="job-line muted">{describeDuration(job, now)}</span>
      </td>
    </tr>
  );
});

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

function ProgressCell({ job, now }: { readonly job: JobView; readonly now: number }) {
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

function describeDuration({ startTime, endTime }: JobView, now: number): string {
  if (startTime === null) {
    return '';
  }
  return formatDuration((endTime === null ? now : Date.parse(endTime)) - Date.parse(startTime));
}
