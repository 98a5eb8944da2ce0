import { formatDateTime } from '#dashboard/format/format-time.ts';
import type { JobView } from '#shared/protocol/job-view.ts';
import { formatClock, formatDuration } from '#shared/text/format-time.ts';
import { formatUsd } from '#shared/text/format-usd.ts';

/** The VM of a failed program that is still billed, until when, and what it costs; null if none is kept now. */
export function describeKept({ kept }: Pick<JobView, 'kept'>, now: number): string | null {
  if (kept === null || kept.releaseTime !== null) {
    return null;
  }
  const leftMs = Math.max(0, Date.parse(kept.untilTime) - now);
  const rate = kept.perHourUsd === null ? '' : `, at ${formatUsd(kept.perHourUsd)} an hour`;
  const until = `${formatDateTime(kept.untilTime)} (${formatDuration(leftMs)} left)`;
  return `The VM ${kept.vmName} is kept for a look until ${until}${rate}.`;
}

/** `VM kept until 14:30`, for a line of the list; null if none is kept now. */
export function describeKeptBriefly({ kept }: Pick<JobView, 'kept'>): string | null {
  return kept === null || kept.releaseTime !== null ? null : `VM kept until ${formatClock(kept.untilTime)}`;
}
