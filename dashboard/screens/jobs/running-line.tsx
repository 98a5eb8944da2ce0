import { useResource } from '#dashboard/client/use-resource.ts';
import type { RunningSummary } from '#shared/protocol/running-summary.ts';
import { formatCount } from '#shared/text/format-number.ts';
import { describeRunning } from '#shared/views/describe/describe-running.ts';

/** The number and the cost of the VMs that run now: the first question about machines that cost money. */
export function RunningLine() {
  const { data } = useResource<RunningSummary>('/v1/running', 'ALL');
  if (data === undefined) {
    return null;
  }
  if (data.unfinishedJobs === 0) {
    return <p class="running-line muted">Nothing is running.</p>;
  }
  return (
    <p class="running-line">
      <strong>{describeRunning(data)}</strong>
      <span class="muted"> · {formatCount(data.unfinishedJobs, 'job')} not finished</span>
    </p>
  );
}
